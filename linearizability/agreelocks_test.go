package linearizability

import "math/rand/v2"

func init() {
	enter(contender{model: Lock(), fresh: func() sequential { return newSeriesLock(Lock(), 1) },
		wild: wildHold(Lock()), ops: 10})
	enter(contender{model: Election(), fresh: func() sequential { return newSeriesLock(Election(), 1) },
		wild: wildHold(Election()), ops: 10})
	enter(contender{model: RWLock(), fresh: func() sequential { return newSeriesLock(RWLock(), 1000) },
		wild: wildHold(RWLock()), ops: 10})
	enter(contender{model: Semaphore(2), fresh: func() sequential { return newSeriesLock(Semaphore(2), 2) },
		wild: wildHold(Semaphore(2)), ops: 10})
	enter(contender{model: Counter(), fresh: func() sequential { return &seriesCounter{} }, wild: wildCount, ops: 10, doubts: 10})
}

// seriesLock runs the operations of a lock, an election, a read/write lock or a semaphore one at a
// time. Whether it gives tokens is drawn once.
type seriesLock struct {
	model    Model
	capacity int
	held     map[int]seriesHold
	token    int64
	bare     int // 1 without tokens, 2 with
}

// seriesHold is what a client holds.
type seriesHold struct {
	takes, permits int
	reads          bool
}

func newSeriesLock(m Model, capacity int) *seriesLock {
	return &seriesLock{model: m, capacity: capacity, held: map[int]seriesHold{}}
}

func (l *seriesLock) run(r *rand.Rand, client int) (Operation, bool) {
	if l.bare == 0 {
		l.bare = 1 + r.IntN(2)
	}
	h, holds := l.held[client]
	if holds && h.permits == 0 && !h.reads && l.model.Name == "rwlock" && r.IntN(3) == 0 {
		l.held[client] = seriesHold{takes: 1, reads: true}
		return Operation{Op: "downgrade"}, true
	}
	if holds {
		delete(l.held, client)
		return l.word(h, "release", r), true
	}
	return l.acquire(r, client)
}

func (l *seriesLock) acquire(r *rand.Rand, client int) (Operation, bool) {
	h := seriesHold{takes: l.capacity}
	switch l.model.Name {
	case "rwlock":
		if h.reads = r.IntN(2) == 0; h.reads {
			h.takes = 1
		}
	case "semaphore":
		h.permits = 1 + r.IntN(l.capacity)
		h.takes = h.permits
	}
	name := "acquire"
	if l.model.Name != "election" && r.IntN(4) == 0 {
		name = "try"
	}
	if used := l.used(); used+h.takes > l.capacity {
		return l.word(h, name, r), name == "try"
	}
	l.held[client] = h
	op := l.word(h, name, r)
	if l.bare == 2 {
		l.token++
		op.Result = Int(l.token)
	} else if name == "try" {
		op.Result = Bool(true)
	}
	return op, true
}

func (l *seriesLock) used() (n int) {
	for _, h := range l.held {
		n += h.takes
	}
	return n
}

// word is an operation about a hold in the words of the model.
func (l *seriesLock) word(h seriesHold, name string, r *rand.Rand) Operation {
	op := Operation{Op: name}
	switch {
	case l.model.Name == "election":
		op.Op = map[string]string{"acquire": "elected", "release": "resigned"}[name]
	case h.reads:
		op.Op = "r" + name
	case h.permits > 1 || h.permits == 1 && r.IntN(2) == 0:
		op.Arg = Int(int64(h.permits))
	}
	return op
}

// wildHold draws the operations of a model of locks.
func wildHold(m Model) func(*rand.Rand) Operation {
	return func(r *rand.Rand) Operation {
		op := Operation{Op: m.Operations[r.IntN(len(m.Operations))]}
		if m.Name == "semaphore" && r.IntN(3) == 0 {
			op.Arg = Int(2)
		}
		switch {
		case op.releases() || op.Op == "resigned" || op.Op == "downgrade":
		case op.kind().Tries:
			op.Result = []Value{Null, Bool(true), Int(r.Int64N(5))}[r.IntN(3)]
		case r.IntN(2) == 0:
			op.Result = Int(r.Int64N(5))
		}
		return op
	}
}

// seriesCounter is a number. Whether additions are told their sums, and what is added, is drawn once.
type seriesCounter struct {
	number int64
	deltas []int64
	told   int // how many of four additions
}

func (c *seriesCounter) run(r *rand.Rand, _ int) (Operation, bool) {
	if c.deltas == nil {
		c.deltas = [][]int64{{1}, {1, 2}, {0, 1, 3}}[r.IntN(3)]
		c.told = []int{4, 2}[max(0, r.IntN(10)-8)]
	}
	if r.IntN(3) == 0 {
		return Operation{Op: "get", Result: Int(c.number)}, true
	}
	delta := c.deltas[r.IntN(len(c.deltas))]
	c.number += delta
	op := Operation{Op: "add", Arg: Int(delta), Result: Int(c.number)}
	if r.IntN(4) >= c.told {
		op.Result = Null
	}
	return op, true
}

func wildCount(r *rand.Rand) Operation {
	if r.IntN(3) == 0 {
		return Operation{Op: "get", Result: Int(r.Int64N(4))}
	}
	return Operation{Op: "add", Arg: Int([]int64{1, 1, 1, 2}[r.IntN(4)]),
		Result: []Value{Null, Int(1 + r.Int64N(4))}[r.IntN(2)]}
}
