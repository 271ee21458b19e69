package workload

import (
	"slices"

	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
)

// anyKind is promised of every custom kind ([Own]). What processes do without being called only its plan can say: from
// outside a goroutine that has what it waited for, and so owes nothing, looks like one that has gone deaf.
var anyKind = []Promise{
	{Names: []string{"deaf", "diverged"}, Text: "45 s after the last change without faults a process has read what is there " +
		"of a znode that it follows (Follows of the plan): deaf without a watch, diverged with one that is armed"},
	{Names: []string{"startup"}, Text: "the first call of each user succeeds if no fault strikes"},
	{Names: []string{"orphan"}, Text: "no ephemeral znode stays that was made by a call which failed, " +
		"unless its outcome is unknown, or whose recipe was closed"},
	{Names: []string{"hang"}, Text: "once faults are healed a call returns whose context or connection has ended, and so does Close"},
}

// ownerless finds who is stuck, or an ephemeral znode that nobody is there for any more.
func (j *Judgement) ownerless(v *View, w simWorld) {
	j.Add(v.Stuck()...)
	path, maker, known := w.abandoned(v.Ops, "/", func(_ string, by *world.Op) bool {
		failed := by.Outcome == world.Fail && !Disconnected(by.Err)
		return !v.lives(by) || !(v.terms != nil && v.terms.closes) && (!failed || slices.ContainsFunc(v.Ops, func(op *world.Op) bool {
			return clientID(op) == clientID(by) && op.Call > by.Call && op.Outcome == world.OK
		}))
	})
	if !v.Left.Notes && len(v.Waiting) == 0 && j.Judges("orphan", known) && maker != nil {
		j.Add(sim.Violation{Property: "orphan", Ops: []*world.Op{maker}}.Saying(
			"%s is still there, made by %s, which failed or whose recipe is closed, and its session lives on",
			world.Path(path), w.call(maker)))
	}
}
