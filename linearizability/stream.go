package linearizability

import (
	"fmt"
	"math"

	"github.com/zktorture/zktorture/linearizability/internal/step"
)

// Stream judges the history of one object while it is being recorded, without keeping all of it: a run may last for
// days. What it remembers grows with what the object holds, with the operations that are under way, and with those of
// unknown outcome, which are under way for ever; not with the length of the history.
//
//	s, err := NewStream(Queue())
//	s.Add(op)      // for every operation, when its outcome is known
//	s.Advance(t)   // now and then: whatever is added from now on was called at t or later
//	v := s.End()   // or earlier, when Add or Advance returns a violation
//
// Its verdict is that of [Check], with two exceptions. A verdict that needs more than the stream remembers is
// Undetermined, for example if it depends on the values that removals of unknown outcome had taken when the queue was
// reported empty. And a value that comes out again after it has been forgotten is called a phantom, even if it is a
// duplicate.
//
// The cut of a history at an instant t is made as Herlihy and Wing ("Linearizability: A Correctness Condition for
// Concurrent Objects", 1990) do it: operations that had not returned by t are pending, which is to say of unknown
// outcome. A history whose cut is not linearizable is not, either.
//
// A Stream is not safe for use by several goroutines at once.
type Stream struct {
	model   Model
	added   History // what is remembered of what was added
	total   int     // how many were added
	now     int64   // whatever is added from now on was called then or later
	due     int     // how many operations to remember before the next check
	every   int     // and how many more than have to be remembered
	object  string
	forgot  bool
	doubt   string   // why the verdict is not ok if nothing is found
	verdict *Verdict // a final one
}

// streamer is what a model has to know to judge a stream.
type streamer struct {
	// pending returns the operation as it is before it has returned, or false if it can be left out.
	pending func(Operation) (Operation, bool)
	// forget tells which operations of a legal cut can make no difference to what comes after, and why the verdict
	// should be in doubt for it, if it should. What is pending is kept anyway.
	forget func(cut) (forget []bool, doubt string)
}

// cut is a history as it was at an instant. Those pending had not returned.
type cut struct {
	history History
	pending []bool
	first   int64 // the first call of what is pending, or else the instant of the cut
}

const (
	rememberMin = 1 << 10 // a Stream checks when it has so many operations more than it has to remember
	rememberMax = 1 << 20 // and gives up if it would have to remember more than this
)

// NewStream returns a Stream without operations. It returns an error if the model has no way to judge piece by piece.
func NewStream(m Model) (*Stream, error) {
	if m.prepare == nil || m.monitor == nil || m.streamer == nil {
		return nil, fmt.Errorf("the model %q cannot judge a stream; record the whole history and give it to Check",
			m.Name)
	}
	return &Stream{model: m, now: math.MinInt64, due: rememberMin, every: rememberMin}, nil
}

// Add adds an operation that has returned, or whose outcome will stay unknown. It returns an error if the operation
// is not sound; the verdict is Undetermined then.
func (s *Stream) Add(op Operation) error {
	problem := s.model.unsound(&op)
	switch {
	case problem != "":
	case op.Call < s.now:
		problem = fmt.Sprintf("it was called before %d, to which the stream had advanced; advance no further than "+
			"to the first call that is still under way", s.now)
	case s.total > 0 && op.Object != s.object:
		problem = "it is of another object than those before; use a stream for each object"
	}
	s.total++
	s.object = op.Object
	if problem != "" {
		return s.refuse(&assumptionError{Index: s.total - 1, Operation: op, Problem: problem})
	}
	if s.verdict == nil && op.Outcome != Fail {
		s.added = append(s.added, op)
	}
	if len(s.added) > rememberMax {
		s.end(Verdict{Outcome: Undetermined, Checker: "stream", Reason: fmt.Sprintf(
			"more than %d operations would have to be remembered; advance the stream more often, or record which "+
				"value a lost removal was after", rememberMax)})
	}
	return nil
}

// refuse ends the stream because what was added is not sound.
func (s *Stream) refuse(err *assumptionError) error {
	s.end(Verdict{Outcome: Undetermined, Checker: "assumptions", Reason: err.Error()})
	return err
}

// end makes a verdict final, unless one is.
func (s *Stream) end(v Verdict) {
	if s.verdict == nil {
		v.Object = s.object
		s.verdict = &v
	}
	s.added = nil
}

// Advance says that whatever is added from now on was called at t or later, and lets the Stream check and forget. It
// returns true as long as nothing is wrong; what is, End tells. A violation is noticed at the latest when about twice
// as many operations have been added as the Stream remembers.
func (s *Stream) Advance(t int64) bool {
	s.now = max(s.now, t)
	if s.verdict == nil && len(s.added) >= s.due {
		s.check()
		s.due = 2*len(s.added) + s.every
	}
	return s.verdict == nil
}

// check judges the history as it is at the present, and forgets what it can.
func (s *Stream) check() {
	if _, err := s.model.validate(s.added); err != nil {
		err.Index = s.total - 1 // of the last one added, at which it was noticed
		_ = s.refuse(err)
		return
	}
	c, indices := s.cut()
	switch r := s.model.monitor(s.model.steps(c.history)); r.Outcome {
	case step.Violation:
		j := newJudge(&s.model, Options{})
		j.explain()
		s.found(j.confirm("monitor", r, c.history))
	case step.Ok:
		forget, doubt := s.model.streamer.forget(c)
		s.forget(forget, &c, indices)
		if s.doubt == "" {
			s.doubt = doubt
		}
	}
}

// cut returns the history as it is at the present, and where its operations are in what was added.
func (s *Stream) cut() (c cut, indices []int) {
	c.first = s.now
	for i, op := range s.added {
		pending := op.Outcome == OK && op.Return >= s.now
		if pending {
			c.first = min(c.first, op.Call)
			var matters bool
			if op, matters = s.model.streamer.pending(op); !matters {
				continue
			}
		}
		c.history, c.pending, indices = append(c.history, op), append(c.pending, pending), append(indices, i)
	}
	return c, indices
}

// forget forgets operations of a cut, but none that is pending: what comes of it is not judged yet.
func (s *Stream) forget(forget []bool, c *cut, indices []int) {
	out := make([]bool, len(s.added))
	for k, i := range indices {
		out[i] = forget[k] && !c.pending[k]
		s.forgot = s.forgot || out[i]
	}
	kept := s.added[:0]
	for i, op := range s.added {
		if !out[i] {
			kept = append(kept, op)
		}
	}
	clear(s.added[len(kept):])
	s.added = kept
}

// found ends the stream with what was found.
func (s *Stream) found(v Verdict) {
	if s.forgot && v.Property == "phantom" {
		v.Message += " (or it had come out before, and was forgotten)"
	}
	s.end(v)
}

// End returns the verdict on all operations that were added. Nothing may be added after it.
func (s *Stream) End() Verdict {
	if s.verdict == nil {
		v := Check(s.model, s.added, Options{})[0]
		if v.Outcome == Ok && s.doubt != "" {
			v = Verdict{Outcome: Undetermined, Checker: "stream", Reason: s.doubt}
		}
		s.found(v)
	}
	return *s.verdict
}
