package cover

import (
	"strings"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/fakezk/wire"
	"github.com/zktorture/zktorture/internal/digest"
	"github.com/zktorture/zktorture/sim/world"
)

// Observer notes what the episodes of one worker show of the world, for [Coverage]. It makes no choice and changes
// nothing: an episode with a witness is the episode without.
type Observer struct {
	world.Blind
	episode int
	asks    bool // of every fault, at every step, where it could strike
	looks   bool // at states, and at pairs of requests
	names   []operation
	offered map[edge]bool
	struck  map[edge]tally
	pairs   map[uint64]tally
	states  sketch

	// Of this episode:
	last    map[string]visit // by znode: the last request about it
	changes int
	lives   func(session int64) bool
}

// operation is the name of an operation of the recipe.
type operation struct {
	name string
	hash uint64
}

// edge is a [Placement] by numbers, which are the witness's own.
type edge struct {
	fault, variant, operation uint8
	place                     world.Whereabouts
	request                   int16
}

// visit is a request about a znode.
type visit struct {
	client int
	what   uint64 // request and operation
}

// askedShare: in one of that many episodes it is asked at every step where each fault could strike. In the others it is
// known of the fault that strikes, as it chooses one of those places. States and pairs of requests are looked at in one of
// lookedShare, up to so many changes, as what a state costs grows with what has been made.
const (
	askedShare  = 64
	lookedShare = 4
	changesMax  = 512
)

// NewObserver returns one that keeps so many states at most.
func NewObserver(states int) *Observer {
	return &Observer{
		names: []operation{{}}, offered: map[edge]bool{}, struck: map[edge]tally{}, pairs: map[uint64]tally{},
		states: newSketch(states), last: map[string]visit{},
	}
}

// Next says of which episode is what follows, and returns the witness as one who watches it; none without a witness.
func (k *Observer) Next(episode int) []world.Observer {
	if k == nil {
		return nil
	}
	k.episode, k.asks, k.looks = episode, episode%askedShare == 0, lookedAt(episode)
	return []world.Observer{k}
}

// lookedAt reports whether states and pairs of requests are looked at in an episode.
func lookedAt(episode int) bool { return episode%lookedShare == 0 }

// Begins forgets the episode before.
func (k *Observer) Begins(w *world.View) {
	k.changes, k.lives = 0, w.Believed
	clear(k.last)
}

// Chooses notes where each fault of the episode could strike now.
func (k *Observer) Chooses(w *world.View, label string) {
	if !k.asks || label != world.LabelFault {
		return
	}
	for f := range (w.Faults() &^ world.Wrap).Each() {
		w.CanStrike(f, func(t world.Target) bool {
			w.Placements(f, t, world.NotStruck, k.note)
			return false
		})
	}
}

// Happens notes that a fault is about to strike one of the places where it could, in one of the variants there.
func (k *Observer) Happens(w *world.View, d world.Event) {
	if d.Fault == 0 {
		return
	}
	f := world.Faults(1 << (d.Fault - 1))
	for _, t := range w.Targets() {
		variant := world.NotStruck
		if d.Strikes(t) {
			variant = d.Variant
		}
		w.Placements(f, t, variant, k.note)
	}
}

func (k *Observer) note(p world.Placed, struck bool) {
	e := edge{uint8(p.Fault.Index()), p.Variant, k.operation(p.Operation), p.Place, int16(p.Request)}
	if k.offered[e] = true; struck {
		mark(k.struck, e, k.episode)
	}
}

// Connects notes what was drawn when a client connects, or a process begins: none of the variants, or one.
func (k *Observer) Connects(operation string, f world.Faults, drawn int) {
	place, variants := world.ConnectVariants(f)
	for i, v := range variants {
		k.note(world.Placed{Fault: f, Variant: v, Place: place, Operation: operation}, i == drawn)
	}
}

// operation numbers the names of operations.
func (k *Observer) operation(name string) uint8 {
	for i := range k.names {
		if k.names[i].name == name {
			return uint8(i)
		}
	}
	if len(k.names) > operationsMax {
		return 0
	}
	k.names = append(k.names, operation{name, world.HashString(name)})
	return uint8(len(k.names) - 1)
}

// operationsMax is how many operations of a recipe are told apart.
const operationsMax = 1<<8 - 1

// Serves notes a request that a server has carried out: beside whose it was, and what came of it.
func (k *Observer) Serves(w *world.View, client int, operation string, call *goclient.Call) {
	if !k.looks {
		return
	}
	r := &call.Request
	k.touches(client, r, k.names[k.operation(operation)].hash)
	if changes := len(w.Changes()); changes < changesMax && (r.Watch || changes != k.changes) {
		k.state(w)
	}
}

// touches notes the znodes that a request is about: a znode and, where its children change, its parent.
func (k *Observer) touches(client int, r *fakezk.Request, operation uint64) {
	v := visit{client, digest.Mix(operation ^ uint64(r.Op))}
	switch r.Op {
	case wire.OpMulti:
		for i := range r.Ops {
			k.touches(client, &r.Ops[i], operation)
		}
		return
	case wire.OpSetWatches, wire.OpSetWatches2, wire.OpAuth, wire.OpCloseSession:
		return
	case wire.OpCreate, wire.OpCreate2, wire.OpCreateContainer, wire.OpCreateTTL, wire.OpDelete:
		k.touch(r.Path[:max(strings.LastIndexByte(r.Path, '/'), 0)], v)
	}
	k.touch(r.Path, v)
}

// touch notes two adjacent requests of different clients about one znode.
func (k *Observer) touch(path string, v visit) {
	before, seen := k.last[path]
	if k.last[path] = v; seen && before.client != v.client {
		mark(k.pairs, digest.Mix(before.what^digest.Mix(v.what)), k.episode)
	}
}

// Struck notes what a fault has made of the recipe's znodes.
func (k *Observer) Struck(w *world.View) { k.state(w) }

// state notes the state of the recipe's znodes, once it has changed.
func (k *Observer) state(w *world.View) {
	if !k.looks {
		return
	}
	k.changes = len(w.Changes())
	k.states.note(w.Servers().Shape(world.Root0, k.lives), k.episode)
}
