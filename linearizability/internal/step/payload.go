package step

// Amount is what a counter knows of an addition or a get: what is added, and the number after it.
type Amount struct{ Delta, Sum int64 }

func (a *Amount) says() any { return *a }

// Amount is what a step of a counter knows.
func (s *Step) Amount() *Amount { return s.With.(*Amount) }

// Sequence is what a double barrier knows of a call: its place in order of call, from 1, and that
// of its process's call before, 0 if there is none.
type Sequence struct{ Order, Previous int32 }

func (q *Sequence) says() any { return *q }

// Sequence is what a step of a double barrier knows.
func (s *Step) Sequence() *Sequence { return s.With.(*Sequence) }

// Urgency is what a priority queue knows of an offer: the priority of the value.
type Urgency int64

func (u *Urgency) says() any { return *u }

// Priority is the priority of what a step offers; in a queue all are equal.
func (s *Step) Priority() int64 {
	if u, ranked := s.With.(*Urgency); ranked {
		return int64(*u)
	}
	return 0
}
