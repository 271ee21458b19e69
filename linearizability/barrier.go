package linearizability

import (
	"github.com/zktorture/zktorture/linearizability/internal/monitor"
	"github.com/zktorture/zktorture/linearizability/internal/step"
)

// Barrier returns the model of a barrier that is open or shut, and open at first.
//
//	shut  shuts it
//	open  opens it
//	wait  waits until it is open
//
// A shut or an open of unknown outcome takes effect at any time from its call on, or never.
func Barrier() Model {
	return Model{
		Name:       "barrier",
		Operations: operationsOf("barrier"),
		problem:    onlyNull("barrier"),
		prepare:    prepareBarrier,
		spec:       barrierSpec,
		monitor:    monitor.Barrier,
		explain: func(j *judge, steps []step.Step) step.Finding {
			return step.Finding{Property: "early-wait", Steps: j.shrink(steps)} // only a wait can be illegal
		},
	}
}

// onlyNull says that an operation has an argument or a result, or nothing.
func onlyNull(object string) func(*Operation) string {
	return func(op *Operation) string {
		if !op.Arg.IsNull() || !op.Result.IsNull() {
			return "operations of a " + object + " have neither argument nor result; leave them null"
		}
		return ""
	}
}

// prepareBarrier leaves out what failed, and waits of unknown outcome.
func prepareBarrier(h History, _ []int32) []step.Step {
	kinds := map[string]step.Kind{"shut": step.Shut, "open": step.Open, "wait": step.Wait}
	var steps []step.Step
	for i := range h {
		op := &h[i]
		if op.Outcome == Fail || op.Op == "wait" && op.Outcome == Unknown {
			continue
		}
		s := newStep(op, i, kinds[op.Op], step.NoItem)
		s.Droppable = op.Op != "open"
		steps = append(steps, s)
	}
	return steps
}

// barrierSpec: the state is whether the barrier is shut. A step that never happens is one that happens after all others.
var barrierSpec = specOf(false, func(shut bool, s *step.Step) (bool, bool) {
	if s.Kind == step.Wait {
		return !shut, shut
	}
	return true, s.Kind == step.Shut
}, func(shut bool) uint64 {
	if shut {
		return 1
	}
	return 0
}, nil)
