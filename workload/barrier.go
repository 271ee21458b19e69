package workload

// The barrier workload: a gate that any user shuts and opens, and at which others wait.
//
// Clients, some with two users on one session, shut and open one barrier again and again and wait at it; they give up,
// crash and come back. One of them opens it last.
//
// A Shut or an Open that failed may have happened, at any time from its call on. A barrier stays shut when the client that
// shut it dies.

import (
	"context"
	"fmt"
	"slices"

	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
)

// gateKind is the table's line for this kind, see [Kind].
var gateKind = Kind{
	Name:  "barrier",
	Model: linearizability.Barrier(),
	Promises: []Promise{
		{
			Names: []string{"early-wait"},
			Text:  "a wait returns only if the barrier is open at some moment during it, and each change happens once",
		},
		{Names: []string{"progress"}, Text: "a wait at an open barrier returns", Also: []string{"lost-wakeup"}},
		usable, tidy, noLeaks,
	},
	Recipes: []Entry{
		barrierEntry(Ours, "recipes.Barrier: is shut and opened, exactly once for each call",
			func(c recipes.Conn, path string) BarrierRecipe { return recipes.NewBarrier(c, path) }),
	},
	Spared: map[string]string{"reap": "its znode has no children"},
}

var barrierEntry = entries("barrier", Barrier)

// BarrierRecipe is a barrier that is open at first, as the workload uses it. Shut and Open do nothing, and
// succeed, if it is shut or open already.
type BarrierRecipe interface {
	Shut(context.Context) error
	Open(context.Context) error
	Wait(context.Context) error
}

// Barrier is the workload of a barrier that is shut and opened. new is called once for each user of a session; all
// that it returns must be about the same barrier. (For a barrier at which parties meet see [DoubleBarrier].)
func Barrier(new func(c recipes.Conn, path string) BarrierRecipe, opts ...Option) *Workload {
	return workloadOf("barrier", linearizability.Barrier(), new, planBarrier, opts)
}

// barrierEpisode is one planned episode.
type barrierEpisode struct {
	Script[string] // names of operations
}

func planBarrier(p *world.Plan, path string) Episode {
	e := &barrierEpisode{NewScript[string](p, path)}
	e.Draw(p, p.Ops, OneOf("wait", "shut", "wait", "open", "shut", "wait"))
	e.turns[0] = append(e.turns[0], "open")
	e.Afresh(p)
	return e
}

func (e *barrierEpisode) Parents() []string { return []string{parentOf(e.Path)} }

// MayWaitForever: a wait may last for ever at a barrier that may be shut.
func (e *barrierEpisode) MayWaitForever(all, waiting []*world.Op) []*world.Op {
	if surelyOpen(all) {
		return nil
	}
	return still(waiting, "wait")
}

// surelyOpen reports whether the barrier is open now: it was not shut, or it was opened after all
// that may have shut it.
func surelyOpen(all []*world.Op) bool {
	var opened int64
	for _, op := range all {
		if op.Name == "open" && op.Outcome == world.OK {
			opened = max(opened, op.Call)
		}
	}
	return !slices.ContainsFunc(all, func(op *world.Op) bool {
		return op.Name == "shut" && op.Outcome != world.Fail && (op.Outcome != world.OK || op.Return >= opened)
	})
}

func (e *barrierEpisode) Run(u User) {
	gate := e.Make(u).(BarrierRecipe)
	e.AtDeath(u, func() { e.Over(u, gate) })
	for name := range e.Turns(u) {
		operateBarrier(u, gate, name)
	}
	e.Finally(u, func() *world.Op { return operateBarrier(u, gate, "open") })
	e.Over(u, gate)
}

func operateBarrier(u User, gate BarrierRecipe, name string) *world.Op {
	do := map[string]func(context.Context) error{"shut": gate.Shut, "open": gate.Open, "wait": gate.Wait}[name]
	ctx, op := u.Begin(name, "", true)
	err := do(ctx)
	outcome := world.OK
	switch {
	case err != nil && name == "wait":
		outcome = world.Fail
	case err != nil:
		outcome = world.Unknown
	}
	u.End(op, outcome, "", err)
	return op
}

func (e *barrierEpisode) Judge(v *View) Judgement {
	j := e.Judging(v)
	h := e.History(v)
	j.History = h
	j.Check(v, linearizability.Barrier(), h)
	j.Add(gateStuck(v)...)
	j.Add(v.UnexpectedErrors(func(op *world.Op) bool { return v.Faulty() && isUnknown(op) })...)
	if len(j.Violations) == 0 {
		j.Add(v.Leaks()...)
	}
	return j
}

// gateStuck explains what still waits although all faults were healed.
func gateStuck(v *View) []sim.Violation {
	found := v.Stuck()
	if len(found) > 0 && found[0].Ops[0].Name == "wait" && surelyOpen(v.Ops) {
		found[0].Property = "lost-wakeup"
		found[0].Message = fmt.Sprintf("%s, although the barrier is open", found[0].Message)
	}
	return found
}

func (e *barrierEpisode) History(v *View) linearizability.History {
	return v.History(func(op *world.Op, add func(linearizability.Operation)) { add(operationOf(op)) })
}
