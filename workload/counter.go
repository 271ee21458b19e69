package workload

// The counter workload.
//
// Clients, some with two users on one session, add to one number that starts at 0 and read it; they wait, give up,
// crash and come back. When all have finished, one of them reads the number once more.
//
// Properties, all of them promised under all faults:
//
//   - the history is linearizable for a number, where an addition that failed with an unknown outcome may have
//     happened. What is broken is named: counted-twice (an addition took effect more than once), lost-update (it did
//     not last), stale-get, sum (none of these). Reads are judged strictly: a counter may not answer from a stale
//     replica. Where requests are seen, an addition of unknown outcome is held to what is known of it (see resolve.go).
//   - undeclared: no addition is carried out and then reports an error that does not say so. An error says so if it is
//     recipes.ErrUnknownOutcome, or a lost connection or session.
//   - progress: once faults are healed every call returns.
//   - unexpected-error: no error without a reason; in particular none that only says that two clients had met, and no
//     unknown outcome where no fault had struck.
//   - unusable: as for a lock.
//   - no leaks: no znode but the number's and what a session keeps while it lives, no watch on what will not come, no
//     goroutine.
//
// An expiry or a crash in the middle of an addition, and a caller that gives up, make its outcome unknown. The number
// is right all the same, and the reads after it show which it was. Only the recipe may remove the number.

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
)

// counterKind is the table's line for this kind, see [Kind].
var counterKind = Kind{
	Name:  "counter",
	Model: linearizability.Counter(),
	Promises: []Promise{
		{
			Text: "the counter is linearizable; additions of unknown outcome may have taken effect or not",
			Also: []string{"counted-twice", "lost-update", "stale-get", "sum"},
		},
		{Names: []string{"undeclared"}, Text: "an addition that fails has not taken effect, unless its error says that it may have"},
		{Names: []string{"progress"}, Text: "every call returns"},
		usable, tidy, noLeaks,
	},
	Recipes: []Entry{
		counterEntry(Ours, "recipes.Counter: a lost reply does not count twice",
			func(c recipes.Conn, path string) Adder { return recipes.NewCounter(c, path) }),
	},
	Spared: map[string]string{"watch": "it watches nothing"},
}

var counterEntry = entries("counter", Counter)

// Adder is a counter as the workload uses it: Add returns the sum.
type Adder interface {
	Add(ctx context.Context, delta int64) (int64, error)
	Get(ctx context.Context) (int64, error)
}

// Counter is the counter workload for a recipe. new is called once for each user of a session; all
// that it returns must be about the same number.
func Counter(new func(c recipes.Conn, path string) Adder, opts ...Option) *Workload {
	return workloadOf("counter", linearizability.Counter(), new, planCounter, opts)
}

// counterEpisode is one planned episode.
type counterEpisode struct {
	Script[int64] // what is added; 0 stands for a get
	new           maker[Adder]
}

func planCounter(p *sim.Plan, path string, new maker[Adder]) *counterEpisode {
	return &counterEpisode{Script: planScript(p, path, 3, oneOf[int64](1, 1, 0, 10, 0, -3)), new: new}
}

func (e *counterEpisode) Run(u User) {
	counter := e.new(u.Conn(), e.Path)
	e.AtDeath(u, func() { e.Over(counter) })
	for delta := range e.Turns(u) {
		if delta == 0 {
			readNumber(u, counter)
		} else {
			addNumber(u, counter, delta)
		}
	}
	e.afresh(u, func() *sim.Op { return addNumber(u, counter, 1) }, func() {
		e.Over(counter)
		counter = e.new(u.Conn(), e.Path)
	})
	if e.Slot(u) == 0 {
		u.AwaitOthers()
		readNumber(u, counter)
	}
	e.Over(counter)
}

func readNumber(u User, counter Adder) {
	ctx, op := u.Begin("get", "", true)
	number, err := counter.Get(ctx)
	if err != nil {
		u.End(op, sim.Fail, "", err)
		return
	}
	u.End(op, sim.OK, strconv.FormatInt(number, 10), nil)
}

func addNumber(u User, counter Adder, delta int64) *sim.Op {
	ctx, op := u.Begin("add", strconv.FormatInt(delta, 10), true)
	sum, err := counter.Add(ctx, delta)
	if err != nil {
		u.End(op, sim.Unknown, suspect(err), err)
		return op
	}
	u.End(op, sim.OK, strconv.FormatInt(sum, 10), nil)
	return op
}

func (e *counterEpisode) Judge(v *View) Judgement {
	j := e.Judging(v)
	j.Add(v.Stuck()...)
	h := e.History(v)
	j.History = h
	j.Check(v, linearizability.Counter(), h)
	j.undeclared(v)
	j.Add(v.UnexpectedErrors(func(op *sim.Op) bool { return v.Faulty() && isUnknown(op) })...)
	if len(j.Violations) == 0 {
		v.Left.Values, v.Left.Notes = true, true
		j.Add(v.Leaks()...)
	}
	return j
}

// resolve collects what is known of additions of unknown outcome, see [resolveCounter].
func (e *counterEpisode) resolve(v *View) resolution {
	seen, known := v.Requests()
	if !known {
		return nil
	}
	return resolveCounter(e.Path, v.Ops, seen)
}

func (e *counterEpisode) doubtful(v *View) bool { return slices.ContainsFunc(v.Ops, undecided) }

func (e *counterEpisode) History(v *View) linearizability.History {
	known := e.resolve(v)
	return v.History(func(op *sim.Op, add func(linearizability.Operation)) {
		if op.Name == "get" && e.terms.waives("stale-get") {
			return // what it returns says nothing of the additions either
		}
		o := OperationOf(op)
		o.Arg, o.Result = number(op.Arg), number(op.Result)
		known.apply(op, &o, number)
		add(o)
	})
}

// number reads a decimal number; null if it is none.
func number(text string) linearizability.Value {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return linearizability.Null
	}
	return linearizability.Int(n)
}

// undeclared finds additions that were carried out although they reported an error that does not
// say that they may have been. (The first one may be a create; but so is a mere preparation.)
func (j *Judgement) undeclared(v *View) {
	made, known := v.commits()
	if !j.Judges("undeclared", known) {
		return
	}
	for i := range made.all {
		c := &made.all[i]
		op := made.by(c)
		add := c.Op == fakezk.OpSetData && op != nil && op.Name == "add"
		if !add || op.Err == nil || declared(op.Err) || made.note(c.Path) {
			continue
		}
		j.Add(sim.Violation{Property: "undeclared", Ops: []*sim.Op{op}}.Saying(
			"%s changed %s (step %d) and then failed with %q, which does not say that it may have happened",
			v.callWith(op), sim.Path(c.Path), c.Step, op.Err))
		return
	}
}

func declared(err error) bool {
	return errors.Is(err, recipes.ErrUnknownOutcome) || Disconnected(err)
}

// note tells whether a znode is or was a note about changes, and not what they change.
func (c commits) note(path string) bool {
	there, ephemeral := true, false // what was there before all changes is no note
	for _, change := range c.all {
		switch {
		case change.Path != path:
		case change.Op == fakezk.OpCreate:
			there, ephemeral = true, change.Owner != 0
		case change.Op == fakezk.OpDelete:
			there = false
		}
	}
	return !there || ephemeral
}
