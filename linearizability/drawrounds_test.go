package linearizability_test

import (
	"math/rand/v2"

	lin "github.com/zktorture/zktorture/linearizability"
)

// The states of a member of a double barrier.
const (
	outside = iota
	entering
	inside
	leaving
)

type member struct {
	name  int // a member that dies returns under another name
	state int
	since int64 // its call
	free  int64 // the end of its last operation
}

// rounds is a double barrier. Unlike other objects it has two instants for each operation: that of the call, at which
// a process enters or leaves, and that at which its wait ends.
type rounds struct {
	r       *rand.Rand
	shape   shape
	parties int
	members []member
	names   int // the number of names so far
	history lin.History
}

func drawRounds(r *rand.Rand, s shape, parties int) lin.History {
	b := &rounds{r: r, shape: s, parties: max(parties, 1), members: make([]member, s.Clients), names: s.Clients}
	for i := range b.members {
		b.members[i].name = i
	}
	instant := int64(0)
	for range patience * s.Operations {
		if len(b.history) >= s.Operations {
			break
		}
		instant += 1 + r.Int64N(3)
		if m := &b.members[r.IntN(len(b.members))]; m.free < instant {
			b.move(m, instant)
		}
	}
	b.interrupt()
	return b.history
}

// interrupt ends the history: operations under way have an unknown outcome.
func (b *rounds) interrupt() {
	for i := range b.members {
		if m := &b.members[i]; m.state == entering || m.state == leaving {
			b.note(m, m.since, true)
		}
	}
}

// move lets a member take its next step, or perhaps give up its wait.
func (b *rounds) move(m *member, instant int64) {
	waits := m.state == entering || m.state == leaving
	switch ready := b.ready(m); {
	case !waits:
		m.state, m.since = m.state+1, instant
	case b.r.Float64() < b.shape.Unknown:
		b.giveUp(m, instant)
	case ready:
		b.note(m, instant, false)
		m.state = (m.state + 1) % (leaving + 1)
	}
}

// ready reports whether a member's wait is over.
func (b *rounds) ready(m *member) bool {
	if m.state == entering {
		return b.count(entering)+b.count(inside) >= b.parties
	}
	return b.count(inside) == 0
}

// giveUp lets a waiting member die and return under another name, or leave again if it waits to enter.
func (b *rounds) giveUp(m *member, instant int64) {
	b.note(m, instant, true)
	if m.state == entering && b.r.IntN(2) == 0 {
		m.state, m.since = leaving, m.free
		return
	}
	if m.state == entering {
		m.state, m.since = leaving, m.free
		b.note(m, m.free, true)
	}
	m.state, m.name = outside, b.names
	b.names++
}

func (b *rounds) count(state int) (n int) {
	for i := range b.members {
		if b.members[i].state == state {
			n++
		}
	}
	return n
}

// note records a member's operation, from its call to the instant at which its wait ended.
func (b *rounds) note(m *member, instant int64, unknown bool) {
	o := lin.Operation{Client: m.name, Op: "enter", Call: m.since, Return: instant + b.r.Int64N(b.shape.Late)}
	if m.state == leaving {
		o.Op = "leave"
	}
	if m.free = o.Return; unknown {
		o.Outcome, o.Return = lin.Unknown, lin.Forever
	}
	b.history = append(b.history, o)
}
