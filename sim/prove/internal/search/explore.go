package search

import (
	"fmt"
	"slices"

	"github.com/zktorture/zktorture/internal/digest"
	"github.com/zktorture/zktorture/sim/internal/bound"
	"github.com/zktorture/zktorture/sim/internal/runner"
	"github.com/zktorture/zktorture/sim/world"
)

// node is a state that was come to, and its number among those of its root.
type node struct {
	state
	number int32
}

// frontier are the states that were come to, but not gone on from. Of the clients it keeps as many as there are.
type frontier struct {
	head    int
	rest    []waiting
	clients []client
}

type waiting struct {
	history         history
	servers, number int32
	acted, alone    uint64
}

func (f *frontier) push(n *node, clients int) {
	f.rest = append(f.rest, waiting{n.history, n.servers, n.number, n.acted, n.alone})
	f.clients = append(f.clients, n.clients[:clients]...)
}

func (f *frontier) len() int { return len(f.rest) - f.head }

// pop takes the first, and is false if there is none.
func (f *frontier) pop(n *node, clients int) bool {
	if f.len() == 0 {
		return false
	}
	w := &f.rest[f.head]
	n.state = state{servers: w.servers, history: w.history, acted: w.acted, alone: w.alone}
	n.number = w.number
	copy(n.clients[:], f.clients[f.head*clients:(f.head+1)*clients])
	if f.head++; f.head > 1<<12 && f.head > len(f.rest)/4 { // what lies behind is forgotten
		f.rest = slices.Delete(f.rest, 0, f.head)
		f.clients = slices.Delete(f.clients, 0, f.head*clients)
		f.head = 0
	}
	return true
}

// link is how a state was come to.
type link struct{ parent, effect int32 }

// walk is a run that goes along a path, and then does what is not known. Where all is known it goes on to a state of which
// something has to be run, if one follows.
type walk struct {
	first bool    // from a root that is not known
	path  []int32 // effects, also of what has been done behind …
	to    int     // … where it led
	whole bool    // all states of the path are compared with what is remembered
	ends  bool    // the path leads to an end, whose execution is to be judged
	now   state
	doing int32 // the deed that is being done …
	at    int   // … in which so many choices were made …
	given []int // … as they were before …
	open  *done // … unless it is not known what it does
}

// wholeWalks says that of so many walks one compares all that it comes to.
const wholeWalks = 8

// mayEvery is of how many states one asks whether the search may go on.
const mayEvery = 1 << 12

// explore goes to all states that can be reached by the present choices of the set-up, the nearest first. It asks whether
// it may go on.
func (s *search) explore(run func() *world.Run, may func() bool) {
	s.walk = walk{first: true}
	s.links, s.waiting = s.links[:0], frontier{}
	if run(); s.stopped() {
		return
	}
	for n := (node{}); s.waiting.pop(&n, len(s.hashes)); {
		if n.number%mayEvery == 0 && !may() {
			return
		}
		for !s.expand(&n) {
			s.walk = walk{path: s.pathTo(n.number), whole: s.runs%wholeWalks == 0, ends: s.atEnd(&n.state) && !s.judged(&n.state)}
			if s.walk.to = len(s.walk.path); s.unclear >= 0 {
				s.walk.path = append(s.walk.path, s.unclear)
			}
			if len(s.walk.path) >= runner.StepsMax {
				s.why = fmt.Errorf("an execution took more than %d steps before faults were healed", runner.StepsMax)
				return
			}
			if !may() {
				return
			}
			before := s.memory.size()
			if run(); s.stopped() {
				return
			} else if s.memory.size() == before {
				s.why = fmt.Errorf("%w: a run to state %x shows nothing new: please report this", errContradiction, s.keyOf(&n.state))
				return
			}
		}
	}
}

func (s *search) stopped() bool { return s.why != nil || s.Found() && !s.Whole }

// pathTo are the effects that lead from the root to a state.
func (s *search) pathTo(number int32) (path []int32) {
	for l := s.links[number]; l.parent >= 0; l = s.links[l.parent] {
		path = append(path, l.effect)
	}
	slices.Reverse(path)
	return path
}

// atEnd reports whether the torture phase ends in a state, as far as is known.
func (s *search) atEnd(t *state) bool {
	if s.finished(t) {
		return true
	}
	idle := s.memory.does[s.doing(t, idling)]
	return idle != nil && s.overBy(idle)
}

// overBy reports whether the torture phase may end with what was done.
func (s *search) overBy(done *done) bool {
	return slices.ContainsFunc(done.effects, func(e int32) bool { return s.memory.effect(e).over })
}

// expand adds the states that follow, and is false if something has to be run before.
func (s *search) expand(n *node) bool {
	if !s.look(&n.state) {
		return false
	}
	from := s.keyOf(&n.state)
	if s.finished(&n.state) {
		s.ends++
		s.tell(from, over, nil, 0)
		return true
	}
	ends := false
	for i, number := range s.does {
		e := s.memory.effect(number)
		if e.over {
			ends = true
			s.tell(from, s.memory.deeds[e.deed].name, e.inner, 0)
			continue
		}
		key := s.keyOf(&s.follow[i])
		s.tell(from, s.memory.deeds[e.deed].name, e.inner, key)
		if s.come(key) {
			s.waiting.push(&node{s.follow[i], int32(len(s.links))}, len(s.hashes))
			s.links = append(s.links, link{n.number, number})
		}
	}
	if ends {
		s.ends++
	}
	return true
}

// look finds what is done in a state, and what follows. It is false if something has to be run before.
func (s *search) look(t *state) bool {
	s.unclear = -1
	if s.finished(t) {
		return s.judged(t)
	}
	deeds, known := s.onOffer(t, s.room[:0])
	if s.room = deeds; !known {
		return false
	}
	s.does, s.follow = s.does[:0], s.follow[:0]
	for _, o := range deeds {
		if !o.does.known() {
			return false
		}
		s.does = append(s.does, o.does.effects...)
	}
	ends := false
	for _, e := range s.does {
		next, known := s.apply(t, e)
		if !known {
			s.unclear = e
			return false
		}
		s.follow = append(s.follow, next)
		ends = ends || s.memory.effect(e).over
	}
	return !ends || s.judged(t)
}

// over is the deed of a state in which all scripts have ended.
const over = "0 0 over"

// tell tells of a step, if somebody wants to know.
func (s *search) tell(from uint64, by string, inner []int, to uint64) {
	if s.Steps != nil {
		s.Steps(from, by, inner, to)
	}
}

// wholeEnds says that of so many ends one is judged by itself, whatever is remembered.
const wholeEnds = 64

func (s *search) judged(t *state) bool { return s.memory.judged.has(s.judgedBy(t)) }

// judgedBy is a hash of what a judge sees of an execution in which faults are healed in a state: of the state itself, if
// none was run that ends so, whatever its history, or if a judge may see more.
func (s *search) judgedBy(t *state) uint64 {
	e, key := s.memory.ends[t.everywhere(len(s.hashes))], s.keyOf(t)
	if e == nil || key%wholeEnds == 0 {
		return key
	}
	return s.ended(t.history, e)
}

// ended is a hash of what a judge sees of an execution with a history until faults are healed, and an end.
func (s *search) ended(h history, e *world.End) uint64 {
	var d digest.Sum
	d.Ints(int64(s.plan), int64(e.Rest))
	h = s.after(h, e.History)
	h.add(&d)
	return uint64(d)
}

// meet is where a walk comes to a state.
func (s *search) meet(w *world.View) {
	k := &s.walk
	moments, step := w.History(), s.met-1 // deeds are done
	switch from := k.now; {
	case step > len(k.path):
		if k.now = s.observe(w); k.open == nil {
			s.contradicts(&from, "the torture phase goes on")
		}
		s.learned(&from, &k.now, moments)
		k.path = append(k.path, k.open.effects[len(k.open.effects)-1])
	case step > 0:
		var known bool
		if k.now, known = s.apply(&from, k.path[step-1]); k.whole || !known || step == k.to {
			to := s.observe(w)
			k.now = s.compare(&from, &to, k.path[step-1], moments)
		}
	case len(k.path) > 0 && !k.whole:
		k.now = s.root
	default:
		k.now = s.observe(w)
		k.now.history = s.after(history{}, moments)
		if !k.first && s.root != k.now {
			s.contradicts(&k.now, "the episode begins in another state")
		}
		if s.root = k.now; k.first {
			var setUp []int
			for i := range s.stack {
				setUp = append(setUp, s.stack[i].value())
			}
			s.tell(0, "", setUp, s.keyOf(&s.root))
		}
		if k.first && !s.come(s.keyOf(&s.root)) {
			world.GiveUp(errSeen) // maybe by clients in another order
		} else if k.first {
			s.links = append(s.links, link{-1, -1})
			s.waiting.push(&node{state: s.root}, len(s.hashes))
		}
	}
	if step == len(k.path) {
		s.goOn(w, step)
	}
	if step < len(k.path) {
		e := s.memory.effect(k.path[step])
		k.doing, k.given, k.open, k.at = e.deed, e.inner, nil, 0
	}
}

// goOn chooses a deed that is not known in a state, or an end that is not judged, or makes the path longer. It gives the
// run up if there is nothing of these.
func (s *search) goOn(w *world.View, step int) {
	k := &s.walk
	deeds, known := s.onOffer(&k.now, s.room[:0])
	if !known || k.open != nil || step == k.to {
		s.notice(w, &k.now)
		deeds, _ = s.onOffer(&k.now, deeds[:0])
	}
	s.room = deeds
	i := slices.IndexFunc(deeds, func(o option) bool { return !o.does.known() })
	switch end := s.atEnd(&k.now); {
	case s.finished(&k.now):
		i = -1
	case end && (i < 0 || k.ends && step == k.to):
		s.do(option{deed: idling, does: s.memory.does[s.doing(&k.now, idling)]})
	case i >= 0:
		s.do(deeds[i])
		return
	default:
		e := s.onward(deeds)
		if e < 0 {
			world.GiveUp(errSeen)
		}
		k.path = append(k.path, e)
		return
	}
	if s.judged(&k.now) {
		world.GiveUp(errSeen)
	}
}

// onward is an effect of known deeds that leads to where something has to be run, -1 if there is none.
func (s *search) onward(deeds []option) int32 {
	var does []int32
	for _, o := range deeds {
		does = append(does, o.does.effects...)
	}
	for _, e := range does {
		if next, known := s.apply(&s.walk.now, e); !s.memory.effect(e).over && (!known || !s.look(&next)) {
			return e
		}
	}
	return -1
}

// do begins a deed of which choices within are made that are not known.
func (s *search) do(o option) {
	k := &s.walk
	if o.does == nil {
		o.does = &done{}
		s.memory.does[s.doing(&k.now, o.deed)] = o.does
	}
	if k.doing, k.given, k.open, k.at = o.deed, nil, o.does, 0; o.does.all {
		k.open = nil
	}
}

// learned ends a deed that was done, of which to is nil if the torture phase ended with it.
func (s *search) learned(from, to *state, moments []world.Moment) {
	know, inner := s.walk.open, []int(nil)
	for i := range know.stack {
		inner = append(inner, know.stack[i].value())
	}
	if !know.all {
		e := effect{deed: s.walk.doing, inner: inner, moments: slices.Clone(moments), over: to == nil}
		if to != nil {
			changed := s.memory.deeds[e.deed].concerns(to.clients[:len(s.hashes)])
			e.servers, e.clients, e.begun = to.servers, slices.Clone(changed), to.alone
		}
		know.effects = append(know.effects, s.memory.learn(e))
		know.stack = advance(know.stack)
		know.all = len(know.stack) == 0
	}
	if to != nil {
		s.compare(from, to, know.effects[len(know.effects)-1], moments)
		to.history = s.after(from.history, moments)
	}
}

// decide answers a question within the torture phase.
func (s *search) decide(n int, label string) (v int) {
	k := &s.walk
	d := &s.memory.deeds[k.doing].deed
	switch label {
	case world.LabelFault:
		return d.fault
	case world.LabelTarget:
		v = slices.Index(s.world.Targets(), d.target)
	case world.LabelVariant:
		v = d.variant
	case world.LabelNext:
		v = slices.Index(s.world.Actions(), d.action)
	default:
		if v = k.at; k.open == nil && v < len(k.given) {
			v = k.given[v]
		} else if k.open != nil {
			v = s.take(&k.open.stack, v, n, label)
		}
		k.at++
	}
	if v < 0 || v >= n {
		s.contradicts(&k.now, "%+v cannot happen", *d)
	}
	return v
}

// concluded notes a run that came to its end.
func (s *search) concluded(end *world.End) {
	k := &s.walk
	if s.met <= len(k.path) {
		s.why = fmt.Errorf("%w: the torture phase ends after %d of %d steps", errContradiction, s.met-1, len(k.path))
		return
	}
	if !s.finished(&k.now) && k.open != nil {
		s.learned(&k.now, nil, nil)
	}
	if where := k.now.everywhere(len(s.hashes)); end != nil && !s.Without.Has(bound.ReduceEnds) {
		if known := s.memory.ends[where]; known != nil && (known.Rest != end.Rest || !slices.Equal(known.History, end.History)) {
			s.why = fmt.Errorf("%w: an execution to state %x ends as another one does not", errContradiction, s.keyOf(&k.now))
		}
		s.memory.ends[where] = end
	}
	s.memory.judged.add(s.judgedBy(&k.now))
}
