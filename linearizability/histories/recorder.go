package histories

import (
	"cmp"
	"math"
	"slices"
	"sync"

	lin "github.com/zktorture/zktorture/linearizability"
)

// Recorder takes down the operations of clients as they run. The zero Recorder is ready for use, by any number of
// goroutines.
//
// A client has one call at a time. An operation of unknown outcome, however, is never over: it may still take effect.
// From then on the client's operations are therefore recorded under a fresh client number, as Jepsen does, and
// [lin.Operation.Process] keeps the number that the client had. The fresh numbers of client 3 are 103, 203 and so on: the
// step is a power of ten, at least 100, that is greater than any client's number.
//
// Client numbers must not be negative; stamps should come from one clock, read just before the call and just after
// the return.
type Recorder struct {
	mu      sync.Mutex
	lives   map[int]int // for each client, how many of its operations ended as unknown
	pending []*Pending
}

// Pending is an operation that has been called.
type Pending struct {
	recorder  *Recorder
	operation lin.Operation // with the client's own number
	life      int
	ended     bool
}

// Begin records that a client calls an operation. What is never ended stays in the history as an operation of unknown
// outcome that did not return.
func (r *Recorder) Begin(client int, op string, arg lin.Value, stamp int64) *Pending {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := &Pending{recorder: r, life: r.lives[client], operation: lin.Operation{
		Client: client, Op: op, Arg: arg, Outcome: lin.Unknown, Call: stamp, Return: lin.Forever,
	}}
	r.pending = append(r.pending, p)
	return p
}

// On names the object that is called, and returns p. It is needed where a history covers several.
func (p *Pending) On(object string) *Pending {
	p.recorder.mu.Lock()
	defer p.recorder.mu.Unlock()
	p.operation.Object = object
	return p
}

// Note attaches text for people, such as that of an error, and returns p.
func (p *Pending) Note(text string) *Pending {
	p.recorder.mu.Lock()
	defer p.recorder.mu.Unlock()
	p.operation.Note = text
	return p
}

// End records what became of the operation. An operation of unknown outcome is recorded as never returning, whatever
// the stamp. Only the first End counts.
func (p *Pending) End(outcome lin.Outcome, result lin.Value, stamp int64) {
	r := p.recorder
	r.mu.Lock()
	defer r.mu.Unlock()
	if p.ended {
		return
	}
	p.ended = true
	p.operation.Outcome, p.operation.Result = outcome, result
	if outcome != lin.Unknown {
		p.operation.Return = stamp
		return
	}
	if r.lives == nil {
		r.lives = make(map[int]int)
	}
	r.lives[p.operation.Client]++
}

// History returns what has been recorded so far, in order of return, then of call.
func (r *Recorder) History() lin.History {
	r.mu.Lock()
	defer r.mu.Unlock()
	stride := r.stride()
	h := make(lin.History, len(r.pending))
	for i, p := range r.pending {
		h[i] = p.operation
		if p.life > 0 {
			h[i].Process = lin.Int(int64(p.operation.Client))
			h[i].Client += p.life * stride
		}
	}
	slices.SortStableFunc(h, func(a, b lin.Operation) int {
		return cmp.Or(cmp.Compare(a.Return, b.Return), cmp.Compare(a.Call, b.Call), cmp.Compare(a.Client, b.Client))
	})
	return h
}

// stride is the distance between the numbers that one client has in turn.
func (r *Recorder) stride() int {
	stride := 100
	for _, p := range r.pending {
		for stride <= p.operation.Client && stride < math.MaxInt/100 {
			stride *= 10
		}
	}
	return stride
}
