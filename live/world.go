package live

import (
	"fmt"
	"time"

	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// liveWorld is what is known of a round on real servers: what its clients, their links and another client have seen.
type liveWorld struct {
	faulty bool
	roundEnds
	remains []liveNode // the tree when an endless wait was found
}

func (w *liveWorld) Faulty() bool { return w.faulty }

func (w *liveWorld) Moment(stamp int64) string { return fmt.Sprintf("%.6f s", float64(stamp)/1e9) }

func (w *liveWorld) Span(from, to int64) string { return w.Moment(from) + " to " + w.Moment(to) }

// Crash is false: the users of a process that has crashed go on with the next.
func (w *liveWorld) Crash(int, int) (at int64, crashed bool) { return 0, false }

// CutOff is true, as it is not known.
func (w *liveWorld) CutOff(int, int64, int64) bool { return true }

// FaultFree is not known: only after all users have finished is it known that the faults are over.
func (w *liveWorld) FaultFree(int64, int64) (d time.Duration, known bool) { return 0, false }

func (w *liveWorld) Beliefs() (known bool) { return false }

func (w *liveWorld) Changes() (all []world.Change, known bool) { return nil, false }

func (w *liveWorld) Herds() (all []world.Herd, known bool) { return nil, false }

func (w *liveWorld) Explain(op *world.Op) world.Sentence {
	return world.Say("%s waits forever in %s, called at %s", workload.Who(op), op.Name, w.Moment(op.Call))
}

func (w *liveWorld) Blocked(op *world.Op, noun string) sim.Violation {
	found := sim.Violation{Property: "progress", Ops: []*world.Op{op}}
	if len(w.remains) == 0 {
		return found.Saying("%v; there is no znode in the queue", w.Explain(op))
	}
	first := w.remains[0]
	text := world.Say("%v; first in the queue is %s of session %v", w.Explain(op), world.Path(first.path), world.SessionID(first.owner))
	if first.owner == op.SessionAt {
		found.Property = "lost-wakeup"
		text = world.Say("%v, its own, so %s is free and nothing has woken it", text, noun)
	}
	return found.Saying("%v", text)
}

func (w *liveWorld) Abandoned([]*world.Op, string, func(*world.Op) bool) (path string, maker *world.Op, known bool) {
	return "", nil, false
}

func (w *liveWorld) Remains(*world.Op) bool { return len(w.remains) > 0 }

// LeftBehind returns nothing: what is left in the tree is looked for when the round is over, see [round.addLeftovers].
func (w *liveWorld) LeftBehind([]*world.Op, workload.Leftovers) []sim.Violation { return nil }
