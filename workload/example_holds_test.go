package workload_test

import (
	"context"
	"fmt"

	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// lease is what users of this kind contend for.
var lease = workload.Role{Noun: "the lease", Acquire: "lease", Release: "end"}

// leases is an episode of a kind of the user's own: its turns take a lease, use it, and end it.
type leases struct {
	workload.Script[struct{}]
	new func(c recipes.Conn, path string) workload.Locker
}

func (e *leases) Run(u workload.User) {
	l := e.new(u.Conn(), e.Path)
	for range e.Turns(u) {
		h := lease.Take(u, l, l.Lock)
		if h == nil {
			continue
		}
		if h.Believes() {
			u.Do("use", func() string { return lease.Noun })
		}
		lease.GiveBack(h, l.Unlock)
	}
}

func (e *leases) History(v *workload.View) linearizability.History { return v.Tenures(lease) }

func (e *leases) Judge(v *workload.View) workload.Judgement {
	j := e.Judging(v)
	always := func(_, _ workload.Hold) bool { return true }
	if a, b, found := workload.Overlaps(v.Holds(lease), always); found {
		j.Add(sim.Violation{Property: "overlap", Ops: []*world.Op{a.Op, b.Op}}.Saying(
			"%s and %s hold %s at the same time",
			workload.Who(a.Op), workload.Who(b.Op), lease.Noun))
	}
	j.Beliefs(v)
	j.Add(v.Stuck()...)
	return j
}

// leasing is the workload of the kind for a recipe.
func leasing(new func(c recipes.Conn, path string) workload.Locker) *workload.Workload {
	return workload.Own("leases", func(p *world.Plan, path string) workload.Episode {
		e := &leases{workload.NewScript[struct{}](p, path), new}
		e.Draw(p, p.Ops, func(*world.Plan, string) (turn struct{}) { return turn })
		return e
	})
}

// given is a lease that everybody gets.
type given struct{}

func (given) Lock(context.Context) error   { return nil }
func (given) Unlock(context.Context) error { return nil }

// Who held what, and when, is known of kinds of your own, too.
func ExampleView_Holds() {
	lock := func(c recipes.Conn, path string) workload.Locker { return recipes.NewLock(c, path) }
	nothing := func(recipes.Conn, string) workload.Locker { return given{} }
	for name, w := range map[string]*workload.Workload{
		"a lock": leasing(lock), "nothing": leasing(nothing),
	} {
		r, err := sim.Run(context.Background(), w, sim.Config{Episodes: 200, Seed: 1})
		fmt.Println(name+":", r.Verdict, err)
		for _, found := range r.Violations {
			fmt.Println("  " + found.Property + ": " + found.Message)
		}
	}
	// Unordered output:
	// a lock: ok <nil>
	// nothing: violation <nil>
	//   overlap: c1 and c2 hold the lease at the same time
}
