package workload

// The counter workload.
//
// Clients, some with two users on one session, add to one number that starts at 0 and read it; they wait, give up,
// crash and come back. When all have finished, one of them reads the number once more.
//
// Reads are judged strictly: a counter may not answer from a stale replica. An addition of unknown outcome is held to what
// the world knows of it. An expiry or a crash in the middle of an addition, and a caller that gives up, make its outcome
// unknown. The number is right all the same, and the reads after it show which it was. Only the recipe may remove it.

import (
	"context"
	"errors"
	"strconv"

	"github.com/zktorture/zktorture/fakezk/wire"
	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
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

// Adder is a counter as the workload uses it: Add returns the sum. A recipe may also have
//
//	Adds() (negative, sum bool) // whether Add can add what is negative, and whether the last Add told the sum
//
// and is then judged by what it has: nothing negative is added, and a sum that was not told is not held against it.
type Adder interface {
	Add(ctx context.Context, delta int64) (int64, error)
	Get(ctx context.Context) (int64, error)
}

// adds reports whether a counter adds what is negative, and tells the sum.
func adds(counter Adder) (negative, sum bool) {
	if c, says := can[interface {
		Adds() (negative, sum bool)
	}](counter, "Adds"); says {
		return c.Adds()
	}
	return true, true
}

// Counter is the counter workload for a recipe. new is called once for each user of a session; all
// that it returns must be about the same number.
func Counter(new func(c recipes.Conn, path string) Adder, opts ...Option) *Workload {
	return workloadOf("counter", linearizability.Counter(), new, planCounter, opts)
}

// counterEpisode is one planned episode.
type counterEpisode struct {
	Script[int64] // what is added; 0 stands for a get
}

func planCounter(p *world.Plan, path string) Episode {
	e := &counterEpisode{planScript(p, path, 3, OneOf[int64](1, 1, 0, 10, 0, -3))}
	e.Drains = true
	return e
}

func (e *counterEpisode) Run(u User) {
	counter := e.Make(u).(Adder)
	e.AtDeath(u, func() { e.Over(u, counter) })
	for delta := range e.Turns(u) {
		if delta == 0 {
			readNumber(u, counter)
		} else {
			addNumber(u, counter, delta)
		}
	}
	e.Finally(u, func() *world.Op { return addNumber(u, counter, 1) })
	if e.Last(u) {
		readNumber(u, counter)
	}
	e.Over(u, counter)
}

func readNumber(u User, counter Adder) {
	ctx, op := u.Begin("get", "", true)
	number, err := counter.Get(ctx)
	if err != nil {
		u.End(op, world.Fail, "", err)
		return
	}
	u.End(op, world.OK, strconv.FormatInt(number, 10), nil)
}

func addNumber(u User, counter Adder, delta int64) *world.Op {
	if negative, _ := adds(counter); !negative {
		delta = max(delta, -delta)
	}
	ctx, op := u.Begin("add", strconv.FormatInt(delta, 10), true)
	sum, err := counter.Add(ctx, delta)
	if err != nil {
		u.End(op, world.Unknown, suspect(err), err)
		return op
	}
	told := strconv.FormatInt(sum, 10)
	if _, summed := adds(counter); !summed {
		told = ""
	}
	u.End(op, world.OK, told, nil)
	return op
}

func (e *counterEpisode) Judge(v *View) Judgement {
	j := e.Judging(v)
	j.Add(v.Stuck()...)
	h := e.History(v)
	j.History = h
	j.Check(v, linearizability.Counter(), h)
	j.undeclared(v)
	j.Add(v.UnexpectedErrors(func(op *world.Op) bool { return v.Faulty() && isUnknown(op) })...)
	if len(j.Violations) == 0 {
		v.Left.Values, v.Left.Notes = true, true
		j.Add(v.Leaks()...)
	}
	return j
}

func (e *counterEpisode) History(v *View) linearizability.History {
	return v.History(func(op *world.Op, add func(linearizability.Operation)) {
		if op.Name == "get" && e.terms.waives("stale-get") {
			return // what it returns says nothing of the additions either
		}
		o := operationOf(op)
		o.Arg, o.Result = number(op.Arg), number(op.Result)
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
		add := c.Op == wire.OpSetData && op != nil && op.Name == "add"
		if !add || op.Err == nil || errors.Is(op.Err, recipes.ErrUnknownOutcome) || Disconnected(op.Err) || made.note(c.Path) {
			continue
		}
		j.Add(sim.Violation{Property: "undeclared", Ops: []*world.Op{op}}.Saying(
			"%s changed %s (step %d) and then failed with %q, which does not say that it may have happened",
			v.CallWith(op), world.Path(c.Path), c.Step, op.Err))
		return
	}
}

// note reports whether a znode is or was a note about changes, and not what they change.
func (c commits) note(path string) bool {
	there, ephemeral := true, false // what was there before all changes is no note
	for _, change := range c.all {
		switch {
		case change.Path != path:
		case change.Op == wire.OpCreate:
			there, ephemeral = true, change.Owner != 0
		case change.Op == wire.OpDelete:
			there = false
		}
	}
	return !there || ephemeral
}
