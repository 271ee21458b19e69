// Package cluster has kinds of recipes for what the processes of a cluster tell each other of themselves. They are made as
// a user's own kinds are, by what package workload exports; commands know them by name.
//
// # The model
//
// What these kinds promise is promised at rest: an instance whose session has expired is listed again, a watcher is told
// of the last change, sooner or later. So the episodes end with a rest ([workload.Script.Rest]), after which users ask
// once more. And a user that still waits then, although what it knows is surely not so any more, has been forgotten: it
// waits for ever, and that is known by the operations alone, in every world.
package cluster

import (
	"fmt"

	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// Kinds are those of this package. Whoever imports it knows them by name.
var Kinds = []*workload.Kind{&registryKind, &cacheKind, &idsKind, &shardsKind}

func init() {
	if err := workload.Register(Kinds...); err != nil {
		panic(err)
	}
}

// ours is the entry of this project's own recipe.
func ours(help string, of func(opts ...workload.Option) *workload.Workload) []workload.Entry {
	return []workload.Entry{{Recipe: workload.Ours, Help: help, New: func() *workload.Workload {
		return of(workload.Named(workload.Ours))
	}}}
}

// oneOf draws one of several turns.
func oneOf(turns ...string) func(p *world.Plan, label string) string {
	return func(p *world.Plan, label string) string { return turns[p.Part(len(turns), label)] }
}

// broken is a violation by operations.
func broken(property string, ops []*world.Op, format string, args ...any) []sim.Violation {
	return []sim.Violation{{Property: property, Ops: ops, Message: fmt.Sprintf(format, args...)}}
}

// called names an operation: "c1's list() at steps 3 to 5".
func called(v *workload.View, op *world.Op) string {
	return fmt.Sprintf("%s's %s(%s) at %s", workload.Who(op), op.Name, op.Arg, v.When(op))
}

// sameUser reports whether operations are of one user, and of one life of its process.
func sameUser(a, b *world.Op) bool {
	return a.Client == b.Client && a.User == b.User && a.Incarnation == b.Incarnation
}

// history is what the clients saw, whose arguments and results are texts.
func history(v *workload.View) linearizability.History {
	return v.History(func(op *world.Op, add func(linearizability.Operation)) {
		o := v.Operation(op)
		o.Arg, o.Result = linearizability.Str(op.Arg), linearizability.Str(op.Result)
		add(o)
	})
}

// never is later than every stamp.
const never = int64(1)<<62 - 1

// outcome is that of a call which may have happened if it failed.
func outcome(err error) world.Outcome {
	if err != nil {
		return world.Unknown
	}
	return world.OK
}
