package sim

import (
	"strings"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/internal/digest"
)

// witness notes what the episodes of one worker show of the world, for [Coverage]. It makes no choice and changes
// nothing: an episode with a witness is the episode without. The methods of a nil witness do nothing.
type witness struct {
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
	fault, way, place, operation uint8
	request                      int16
}

// visit is a request about a znode.
type visit struct {
	client int
	what   uint64 // request and operation
}

// askedShare: in one of that many episodes it is asked at every step where each fault could strike. In the others it is
// known of the fault that strikes, as it chooses one of those places. States and pairs of requests are looked at in one of
// lookedShare.
const (
	askedShare  = 64
	lookedShare = 4
)

// newWitness returns the witness of a worker, nil if nobody wants to know what was seen.
func (c *campaign) newWitness() *witness {
	if c.part.Seen == nil {
		return nil
	}
	return newWitness(c.cfg.CoverageStates)
}

// saw adds what a worker has seen to the campaign's.
func (c *campaign) saw(k *witness) {
	if k == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.part.Seen.add(k.sights())
}

// newWitness returns a witness that keeps so many states at most.
func newWitness(states int) *witness {
	return &witness{
		names: []operation{{}}, offered: map[edge]bool{}, struck: map[edge]tally{}, pairs: map[uint64]tally{},
		states: newSketch(states), last: map[string]visit{},
	}
}

// next says of which episode is what follows, and returns the witness.
func (k *witness) next(episode int) *witness {
	if k != nil {
		k.episode, k.asks, k.looks = episode, episode%askedShare == 0, lookedAt(episode)
	}
	return k
}

// lookedAt tells whether states and pairs of requests are looked at in an episode.
func lookedAt(episode int) bool { return episode%lookedShare == 0 }

// begin is called at the begin of each episode.
func (k *witness) begin(w *World) {
	if k == nil {
		return
	}
	k.changes, k.lives = 0, w.believed
	clear(k.last)
}

// believed tells whether a living process believes to have a session.
func (w *World) believed(session int64) bool {
	for _, p := range w.procs {
		for _, c := range p.clients {
			if !p.crashed && c.Session() == session {
				return true
			}
		}
	}
	return false
}

// ask notes where each fault of the episode could strike now.
func (k *witness) ask(w *World) {
	if k == nil || !k.asks {
		return
	}
	for f := range (w.faults &^ Wrap).Each() {
		faultTable[f.index()].find(w, func(t target) { k.place(w, f, t, notStruck) })
	}
}

// notStruck is no variant.
const notStruck = -1

// strike notes that a fault is about to strike one of the places where it could, in one of the variants there.
func (k *witness) strike(w *World, f Faults, chosen target, variant int) {
	if k == nil {
		return
	}
	for _, t := range w.targets {
		if t == chosen {
			k.place(w, f, t, variant)
		} else {
			k.place(w, f, t, notStruck)
		}
	}
}

// place notes what a fault finds at a target: of each process that it concerns.
func (k *witness) place(w *World, f Faults, t target, struck int) {
	switch {
	case f == Lag && t.client < w.replicas:
		w.eachClient(func(p *process, _ int, c client) {
			if at, connected := c.Connected(); connected && at == t.client {
				k.placeAt(w, f, p, c, t.variants, struck)
			}
		})
	case f == Lag:
		p := w.procs[t.client-w.replicas]
		e := k.under(p, p.clients[t.user])
		e.fault, e.way = uint8(f.index()), wayMoves
		k.note(e, struck != notStruck)
	case f == Reap || t.client < 0 || t.client >= len(w.procs): // of no process in particular
		w.alive(func(p *process) { k.placeAt(w, f, p, p.first(), t.variants, struck) })
	case f == Cancel || f == Stall: // of a user
		p := w.procs[t.client]
		k.placeOf(w, f, k.underUser(p, p.first(), t.user), p.first(), t.variants, struck)
	default:
		p := w.procs[t.client]
		c := p.first()
		if t.user < len(p.clients) {
			c = p.clients[t.user]
		}
		k.placeAt(w, f, p, c, t.variants, struck)
	}
}

// first is the client of the process that began first, nil if none has.
func (p *process) first() client {
	if len(p.clients) == 0 {
		return nil
	}
	return p.clients[0]
}

func (k *witness) placeAt(w *World, f Faults, p *process, c client, variants, struck int) {
	k.placeOf(w, f, k.under(p, c), c, variants, struck)
}

func (k *witness) placeOf(w *World, f Faults, e edge, c client, variants, struck int) {
	e.fault = uint8(f.index())
	for v := range variants {
		if e.way = uint8(v); f == Loss {
			e.way = uint8(w.lossOf(c, v))
		}
		k.note(e, v == struck)
	}
}

func (k *witness) note(e edge, struck bool) {
	if k.offered[e] = true; struck {
		mark(k.struck, e, k.episode)
	}
}

// atConnect notes what was drawn when a client connects, or a process begins: none of the ways, or one.
func (k *witness) atConnect(p *process, f Faults, at uint8, ways []uint8, drawn int) {
	if k == nil {
		return
	}
	e := edge{fault: uint8(f.index()), place: at, operation: k.operationOf(p)}
	for i, way := range ways {
		e.way = way
		k.note(e, i == drawn)
	}
}

// under says what is under way at a client.
func (k *witness) under(p *process, c client) edge {
	if c == nil {
		return edge{place: placeIdle, operation: k.operationOf(p)}
	}
	switch sent, waits, queued := c.Sent(), c.Unanswered(), c.Queued(); {
	case sent != nil:
		return k.of(p, sent, placeOnWay)
	case waits != nil:
		return k.of(p, waits, placeAnswered)
	case queued != nil:
		return k.of(p, queued, placeUnsent)
	case c.Watches() > 0:
		return edge{place: placeWatching, operation: k.operationOf(p)}
	}
	return edge{place: placeIdle, operation: k.operationOf(p)}
}

// underUser says what is under way for one user of a client.
func (k *witness) underUser(p *process, c client, user int) edge {
	e, mine := k.under(p, c), uint8(0)
	if op := p.opOf(user); op != nil {
		mine = k.operation(op.Name)
	}
	if e.request == 0 || e.operation != mine {
		e.operation, e.request = mine, 0
		if e.place = placeIdle; c != nil && c.Watches() > 0 {
			e.place = placeWatching
		}
	}
	return e
}

// of says that a request is at a place.
func (k *witness) of(p *process, call *fakezk.Call, place uint8) edge {
	return edge{place: place, operation: k.asker(p, call), request: int16(call.Request.Op)}
}

// asker is the operation on whose behalf a request is sent, 0 if none is: the client's own, and those of goroutines that
// go on after their operation has returned.
func (k *witness) asker(p *process, call *fakezk.Call) uint8 {
	if op := p.opOf(call.User); op != nil && op.Number == call.Tag {
		return k.operation(op.Name)
	}
	return 0
}

// operationOf is that of the first user of a process that has one under way, 0 if there is none.
func (k *witness) operationOf(p *process) uint8 {
	for _, u := range p.users {
		if u.op != nil {
			return k.operation(u.op.Name)
		}
	}
	return 0
}

// operation numbers the names of operations.
func (k *witness) operation(name string) uint8 {
	for i := range k.names {
		if k.names[i].name == name {
			return uint8(i)
		}
	}
	if len(k.names) > operationsMax {
		return 0
	}
	k.names = append(k.names, operation{name, hashString(name)})
	return uint8(len(k.names) - 1)
}

// operationsMax is how many operations of a recipe are told apart.
const operationsMax = 1<<8 - 1

// request notes a request that a server has carried out: beside whose it was, and what came of it.
func (k *witness) request(w *World, p *process, call *fakezk.Call) {
	if k == nil || !k.looks {
		return
	}
	r := &call.Request
	k.touches(p, r, k.names[k.asker(p, call)].hash)
	if r.Watch || len(w.changes) != k.changes {
		k.state(w)
	}
}

// touches notes the znodes that a request is about: a znode and, where its children change, its parent.
func (k *witness) touches(p *process, r *fakezk.Request, operation uint64) {
	v := visit{p.id, digest.Mix(operation ^ uint64(r.Op))}
	switch r.Op {
	case fakezk.OpMulti:
		for i := range r.Ops {
			k.touches(p, &r.Ops[i], operation)
		}
		return
	case fakezk.OpSetWatches, fakezk.OpSetWatches2, fakezk.OpSetAuth, fakezk.OpCloseSession:
		return
	case fakezk.OpCreate, fakezk.OpCreate2, fakezk.OpCreateContainer, fakezk.OpCreateTTL, fakezk.OpDelete:
		k.touch(r.Path[:max(strings.LastIndexByte(r.Path, '/'), 0)], v)
	}
	k.touch(r.Path, v)
}

// touch notes two adjacent requests of different clients about one znode.
func (k *witness) touch(path string, v visit) {
	before, seen := k.last[path]
	if k.last[path] = v; seen && before.client != v.client {
		mark(k.pairs, digest.Mix(before.what^digest.Mix(v.what)), k.episode)
	}
}

// state notes the state of the recipe's znodes, once it has changed.
func (k *witness) state(w *World) {
	if k == nil || !k.looks {
		return
	}
	k.changes = len(w.changes)
	k.states.note(w.servers.Shape(Root0, k.lives), k.episode)
}
