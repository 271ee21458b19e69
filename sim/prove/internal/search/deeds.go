package search

import (
	"errors"
	"fmt"
	"slices"

	"github.com/zktorture/zktorture/internal/digest"
	"github.com/zktorture/zktorture/sim/world"
)

// What a client does, or suffers, changes the servers and that client with its line, by what these were before: of the
// other clients nothing else is looked at. So it is run once, and remembered, for all states that have these parts in
// common, whatever the other clients and the history are. What it does to another's line, where it changes the servers, is
// remembered by that change. What befalls the servers alone is remembered by these, and what concerns all by the whole
// state but the history.
//
// A wrong memory contradicts itself: runs compare what they see with what is remembered, and a contradiction ends the
// search.

// deed is what happens between two states: an action, or the strike of a fault. Unlike the number of an answer it means
// the same whatever else is on offer.
type deed struct {
	fault   int // its number among those of the episode; 0: it is an action
	target  world.Target
	variant int
	action  world.Action
}

// known is a deed with whose it is.
type known struct {
	deed
	client int    // who does or suffers it, -1 for nobody
	alone  bool   // it changes only the servers, and the client if it is somebody's, and depends on nothing else
	name   string // see [bound.Steps]
}

const idling = 0 // the number of the deed that time passes

// alone are the faults that change only the servers and the client that they strike.
const alone = world.Loss | world.Expiry | world.Watch | world.Cancel | world.Crash | world.Stall | world.Lag

// option is a deed that is on offer, unless it is an action that waits for a majority and there are others.
type option struct {
	deed  int32
	waits bool
	does  *done // nil unless it is one client's alone: see [memory.does]
}

// doing is a deed of nobody, or that concerns all, and a hash of all on which it depends what it does.
type doing struct {
	where uint64
	deed  int32
}

// done is what a deed has been seen to do, of each way in which choices within it were made; more may be left.
type done struct {
	effects []int32
	stack   []branch
	all     bool
}

func (d *done) known() bool { return d != nil && d.all }

// effect is what a deed does.
type effect struct {
	deed    int32
	inner   []int // choices within it
	over    bool  // the torture phase ends
	moments []world.Moment
	begun   uint64   // clients, as bits, that begin alone
	servers int32    // the state that follows …
	clients []client // … of the client, if it concerns only that, or of all
}

// passing is a change of the servers which another client has made, and a line.
type passing struct{ before, after, line int32 }

// memory is what runs have shown.
type memory struct {
	deeds   []known
	number  map[deed]int32
	can     map[uint64][]option // by the servers, and a client or nobody
	does    map[doing]*done
	effects [][]effect            // in pages, so that none of millions is ever copied
	learned int                   // effects
	lines   map[passing]int32     // what becomes of them
	ends    map[uint64]*world.End // by the state in which faults are healed, but for its history
	judged  set                   // what was run and judged, see [search.judgedBy]
}

func newMemory() *memory {
	return &memory{
		deeds: []known{{deed{action: world.Idling}, -1, false, nameOf(deed{action: world.Idling})}}, number: map[deed]int32{}, can: map[uint64][]option{},
		does: map[doing]*done{}, lines: map[passing]int32{}, ends: map[uint64]*world.End{},
	}
}

// size grows with whatever is learned.
func (m *memory) size() int {
	return len(m.can) + m.learned + len(m.lines) + m.judged.size + len(m.ends)
}

// effectsPage is how many effects lie in one piece.
const effectsPage = 1 << 12

func (m *memory) effect(number int32) *effect {
	return &m.effects[number/effectsPage][number%effectsPage]
}

// learn returns the number of a new effect.
func (m *memory) learn(e effect) int32 {
	if m.learned%effectsPage == 0 {
		m.effects = append(m.effects, make([]effect, 0, effectsPage))
	}
	page := &m.effects[len(m.effects)-1]
	*page = append(*page, e)
	m.learned++
	return int32(m.learned - 1)
}

// errContradiction ends a search that remembers what is not so.
var errContradiction = errors.New("what was remembered contradicts what was run")

func (s *search) contradicts(t *state, format string, args ...any) {
	world.GiveUp(fmt.Errorf("%w: after %d steps, in state %x, %s: please report this", errContradiction, s.met-1, s.keyOf(t),
		fmt.Sprintf(format, args...)))
}

// numberOf is the number of a deed.
func (s *search) numberOf(d deed, client int, alone bool) int32 {
	number, is := s.memory.number[d]
	if !is {
		number = int32(len(s.memory.deeds))
		s.memory.number[d] = number
		s.memory.deeds = append(s.memory.deeds, known{d, client, alone, nameOf(d)})
	}
	return number
}

func nameOf(d deed) string {
	if d.fault > 0 {
		return fmt.Sprintf("%d %d %v", d.fault, d.variant, d.target)
	}
	return fmt.Sprintf("0 0 %v", d.action)
}

// concerns are those of all clients whose part of a state it changes.
func (d *known) concerns(all []client) []client {
	switch {
	case !d.alone:
		return all
	case d.client < 0:
		return nil
	}
	return all[d.client : d.client+1]
}

// before is a hash of the part of a state that a client looks at, or nobody in particular, to whom it matters whether any
// client can act.
func (s *search) before(t *state, client int, acts bool) uint64 {
	var d digest.Sum
	d.Ints(int64(client), int64(t.servers))
	if client < 0 {
		d.Bool(acts)
		for _, c := range t.clients[:len(s.hashes)] {
			d.Int(int64(c.line))
		}
	} else {
		d.Ints(int64(t.clients[client].line), int64(t.clients[client].own))
	}
	return uint64(d)
}

// everywhere is a hash of a state but for its history.
func (t *state) everywhere(clients int) uint64 {
	var d digest.Sum
	d.Int(int64(t.servers))
	for _, c := range t.clients[:clients] {
		d.Ints(int64(c.line), int64(c.own))
	}
	return uint64(d)
}

// doing is what a deed that is not one client's alone depends on in a state.
func (s *search) doing(t *state, deed int32) doing {
	if s.memory.deeds[deed].alone {
		return doing{uint64(t.servers), deed}
	}
	return doing{t.everywhere(len(s.hashes)), deed}
}

// notice learns what can be done in a state, or compares it with what is known.
func (s *search) notice(w *world.View, t *state) {
	lists := make([][]option, 1+len(s.hashes))
	w.Collect()
	allowed, acts := s.awaitingQuorum.actions(w), false
	for i, a := range w.Actions() {
		client := a.Client
		if acts = acts || !a.OfServer(); a.OfServer() {
			client = -1
		}
		number := s.numberOf(deed{action: a}, client, client >= 0 && a.Kind != world.ActResume || a.Kind == world.ActApply || a.Kind == world.ActNotice)
		lists[1+client] = append(lists[1+client], option{deed: number, waits: !slices.Contains(allowed, i)})
	}
	if s.left > 0 {
		sites := w.Sites(nil)
		for kind, f := range w.Striking() {
			s.kind = kind
			w.CanStrike(f, func(target world.Target) bool {
				site := sites[0]
				sites = sites[1:]
				for _, v := range s.variants(site.Variants) {
					number := s.numberOf(deed{fault: kind, target: target, variant: v}, site.Client, alone.Has(f))
					lists[1+site.Client] = append(lists[1+site.Client], option{deed: number})
				}
				return false
			})
		}
	}
	for i, list := range lists {
		slices.SortFunc(list, func(a, b option) int { return int(a.deed - b.deed) })
		where := s.before(t, i-1, acts)
		before, is := s.memory.can[where]
		equal := func(a, b option) bool { return a.deed == b.deed && a.waits == b.waits }
		if is && !slices.EqualFunc(before, list, equal) {
			s.contradicts(t, "c%d (c0 is nobody) can do other things than before", i)
		} else if is {
			continue
		}
		for i := range list {
			if d := s.memory.deeds[list[i].deed]; d.alone && d.client >= 0 {
				list[i].does = &done{}
			}
		}
		s.memory.can[where] = list
	}
}

// onOffer lists the deeds that a search takes in a state. It is false if it is not known what can be done there.
func (s *search) onOffer(t *state, list []option) (_ []option, known bool) {
	var actions, only int
	var targets [world.FaultCount + 1]int
	var last deed
	var all [64]option
	offered := all[:0]
	var lists [1 + world.ClientsMax][]option // of nobody, and of clients
	acts := false
	for client := len(s.hashes) - 1; client >= -1; client-- {
		can, is := s.memory.can[s.before(t, client, acts)]
		if !is {
			return nil, false
		}
		lists[1+client] = can
		acts = acts || slices.ContainsFunc(can, func(o option) bool { return s.memory.deeds[o.deed].fault == 0 })
	}
	for _, can := range lists[:1+len(s.hashes)] {
		for _, o := range can {
			d := &s.memory.deeds[o.deed]
			switch {
			case d.fault == 0:
				actions++
				only = len(offered)
			case d.fault != last.fault || d.target != last.target:
				targets[d.fault]++
			}
			last = d.deed
			offered = append(offered, o)
		}
	}
	later := s.later(t)
	for i, o := range offered {
		d := &s.memory.deeds[o.deed]
		leaves := d.client >= 0 && later>>d.client&1 != 0
		switch { // of one nothing is chosen
		case d.fault == 0 && actions == 1 && i == only, d.fault > 0 && targets[d.fault] == 1:
		case o.waits || leaves:
			continue
		}
		list = append(list, o)
	}
	if actions == 0 {
		list = append(list, option{deed: idling})
	}
	if s.Backwards {
		slices.Reverse(list)
	}
	for i := range list {
		if o := &list[i]; o.does == nil {
			o.does = s.memory.does[s.doing(t, o.deed)]
		}
	}
	return list, true
}

// apply returns the state after an effect. It is false if it is not known what becomes of another's line.
func (s *search) apply(t *state, number int32) (n state, known bool) {
	e := s.memory.effect(number)
	d := &s.memory.deeds[e.deed]
	n = *t
	n.servers = e.servers
	copy(d.concerns(n.clients[:]), e.clients)
	if known = true; d.alone && !e.over && t.servers != n.servers {
		for i := range s.hashes {
			if i != d.client && known {
				n.clients[i].line, known = s.memory.lines[passing{t.servers, n.servers, t.clients[i].line}]
			}
		}
	}
	if d.client >= 0 {
		n.acted |= 1 << d.client
		n.alone |= e.begun & (1 << d.client)
		n.acted |= n.alone
	}
	n.history = s.after(n.history, e.moments)
	return n, known
}

// compare compares what was seen with what is remembered, and learns what became of lines.
func (s *search) compare(from, to *state, number int32, moments []world.Moment) (want state) {
	want, known := s.apply(from, number)
	if !known {
		for i := range s.hashes {
			p := passing{from.servers, to.servers, from.clients[i].line}
			if _, is := s.memory.lines[p]; !is && i != s.memory.deeds[s.memory.effect(number).deed].client {
				s.memory.lines[p] = to.clients[i].line
			}
		}
		want, _ = s.apply(from, number)
	}
	e := s.memory.effect(number)
	got := *to
	if e.over || !slices.Equal(e.moments, moments) {
		s.contradicts(from, "another history follows from %+v", s.memory.deeds[e.deed].deed)
	}
	if got.history = want.history; got != want {
		s.contradicts(from, "another state follows from %+v", s.memory.deeds[e.deed].deed)
	}
	return want
}
