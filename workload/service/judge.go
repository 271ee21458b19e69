package service

import (
	"slices"
	"strconv"
	"strings"

	"github.com/zktorture/zktorture/fakezk/wire"
	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// History implements [workload.Episode]: there is no model of services.
func (e *episode) History(*workload.View) linearizability.History { return nil }

// Judge implements [workload.Episode].
func (e *episode) Judge(v *workload.View) workload.Judgement {
	j := e.Judging(v)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.startup(v, &j)
	for _, name := range declared(v) {
		e.exclusion(v, &j, name)
	}
	j.Beliefs(v)
	j.Violations = slices.DeleteFunc(j.Violations, func(found sim.Violation) bool {
		return found.Property == "belief" && e.ambiguous(v, found.Ops[0])
	})
	for _, op := range e.hung {
		j.Add(sim.Violation{Property: "hang", Ops: []*world.Op{op}}.Saying(
			"%s's start, called at %s, has not returned %v after the end of its context", workload.Who(op), v.Moment(op.Call), stopTime))
	}
	j.Add(e.found...)
	if e.rest != nil {
		e.atRest(&j)
	}
	return j
}

// startup: without faults Start does not fail, and once they are over it does not go on failing.
func (e *episode) startup(v *workload.View, j *workload.Judgement) {
	fails := func(op *world.Op, format string, args ...any) {
		j.Add(sim.Violation{Property: "startup", Ops: []*world.Op{op}}.Saying(format, args...))
	}
	for _, op := range e.starts {
		at, crashed := v.Crash(op.Client, op.Incarnation)
		switch {
		case v.Faulty():
		case crashed:
			fails(op, "%s's process exited at %s although no fault had struck", workload.Who(op), v.Moment(at))
			return
		case slices.Contains(e.failed, op):
			fails(op, "%s's start at %s failed with %q although no fault had struck", workload.Who(op), v.When(op), op.Err)
			return
		}
	}
	for _, d := range e.down {
		fails(d.starts, "%s is not up %v after the last fault: %s", workload.Who(d.starts), calm, d.why)
	}
}

// atRest: what has to be declared is, and the invariants hold.
func (e *episode) atRest(j *workload.Judgement) {
	for _, name := range e.of.Required {
		if len(e.rest.Declared[name]) == 0 {
			j.Add(sim.Violation{Property: "progress"}.Saying("%v after the last fault no instance declares %s", calm, name))
		}
	}
	for _, invariant := range e.of.Invariants {
		if err := invariant.Holds(*e.rest); err != nil {
			other := func(op *world.Op) bool { return !strings.Contains(err.Error(), strconv.Quote(op.Result)) }
			j.Add(sim.Violation{Property: invariant.Name, Ops: slices.DeleteFunc(slices.Clone(e.rest.Done), other)}.Saying("%v after the last fault %v", calm, err))
		}
	}
}

// declared lists what was declared, in the order in which it first was.
func declared(v *workload.View) (names []string) {
	for _, op := range v.Ops {
		if name, is := strings.CutPrefix(op.Name, "declare "); is && op.Data != nil && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// exclusion: of two declarations of the same one is over before the other begins.
func (e *episode) exclusion(v *workload.View, j *workload.Judgement, name string) {
	holds := v.Holds(roleOf(name))
	for i := range holds {
		h := &holds[i]
		for _, u := range e.used(v, h.Op) {
			if u.end >= h.Op.Call {
				h.To = max(h.From, min(h.To, u.end))
			}
		}
	}
	a, b, found := workload.Overlaps(holds, func(workload.Hold, workload.Hold) bool { return true })
	if !found {
		return
	}
	until := " on"
	if a.Ended() {
		until = " to " + v.Moment(a.To)
	}
	j.Add(sim.Violation{Property: "exclusion", Ops: []*world.Op{a.Op, b.Op}}.Saying(
		"%s declares %s from %s%s under session %v, and %s declares it at %s under session %v",
		workload.Who(a.Op), name, v.Moment(a.From), until, world.SessionID(a.Op.SessionAt),
		workload.Who(b.Op), v.Moment(b.From), world.SessionID(b.Op.SessionAt)))
}

// use is that of a session for ephemeral znodes, from its first to its end.
type use struct{ session, first, end int64 }

// used are the sessions by which the instance of an operation has asked for ephemeral znodes before that, since Start was
// called last.
func (e *episode) used(v *workload.View, op *world.Op) (all []use) {
	var since int64
	own := map[int64]bool{}
	for _, o := range v.Ops {
		if o.Client == op.Client && o.Incarnation == op.Incarnation && o.Call <= op.Call {
			if own[o.Number] = true; slices.Contains(e.starts, o) {
				since = o.Call
			}
		}
	}
	changes, _ := v.Changes()
	for _, c := range changes {
		at := world.StampOf(c.Step)
		if c.Op != wire.OpCreate || c.Owner == 0 || !own[c.By] || at < world.StampOf(world.StepOf(since)) || at > op.Return {
			continue
		}
		if !slices.ContainsFunc(all, func(u use) bool { return u.session == c.Owner }) {
			u := use{c.Owner, at, 1 << 62}
			if end, ended := v.SessionEnd(c.Owner); ended {
				u.end = end
			}
			all = append(all, u)
		}
	}
	return all
}

// ambiguous reports whether an instance went by several sessions at once.
func (e *episode) ambiguous(v *workload.View, op *world.Op) bool {
	all := e.used(v, op)
	for i, a := range all {
		if slices.ContainsFunc(all[:i], func(b use) bool { return a.first < b.end && b.first < a.end }) {
			return true
		}
	}
	return false
}
