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

// ownerless finds who is stuck, or an ephemeral znode that nobody is there for any more. If somebody waits that znode is in
// its way, and the wait follows from it.
func (j *Judgement) ownerless(v *View, w simWorld) {
	if len(j.Violations) == 0 {
		j.Add(v.Stuck()...)
	}
	stuck := func(found sim.Violation) bool { return found.Property == "progress" }
	if v.Left.Notes || slices.ContainsFunc(j.Violations, func(found sim.Violation) bool { return !stuck(found) }) {
		return
	}
	closed := v.terms != nil && v.terms.closes && len(v.Waiting) == 0
	path, maker, known := w.abandoned(v.Ops, "/", func(_ string, by *world.Op) bool {
		failed := by.Outcome == world.Fail && !Disconnected(by.Err)
		faultFree, _ := v.FaultFree(by.Return, never)
		return !v.lives(by) || len(v.Waiting) > 0 && faultFree < idleMax || !closed && (!failed || slices.ContainsFunc(v.Ops, func(op *world.Op) bool {
			return SameUser(op, by) && op.Call > by.Call && op.Outcome == world.OK
		}))
	})
	if !j.Judges("orphan", known) || maker == nil {
		return
	}
	found := sim.Violation{Property: "orphan", Ops: []*world.Op{maker}}
	if len(v.Waiting) > 0 {
		j.Violations = slices.DeleteFunc(j.Violations, stuck)
		found.Ops = append(found.Ops, v.Waiting[0])
		j.Add(found.Saying("%s is still there, made by %s, which failed, and its session lives on; %v",
			world.Path(path), w.call(maker), v.Explain(v.Waiting[0])))
		return
	}
	why := "which failed"
	if closed {
		why = "whose recipe is closed"
	}
	j.Add(found.Saying("%s is still there, made by %s, %s, and its session lives on", world.Path(path), w.call(maker), why))
}

// advise adds what the kind that is registered by a name says to do about what it has found.
func (j *Judgement) advise(kind string) {
	k, err := KindNamed(kind)
	if err != nil {
		return
	}
	for i := range j.Violations {
		found := &j.Violations[i]
		if p := slices.IndexFunc(k.Promises, func(p Promise) bool { return p.BrokenBy(found.Property) }); p >= 0 && found.Help == "" {
			found.Help = k.Promises[p].Help
		}
	}
}
