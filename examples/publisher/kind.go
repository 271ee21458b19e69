package publisher

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// Kind specifies publishers, for the command in examples/torture.
var Kind = &workload.Kind{
	Name: "publisher",
	Promises: []workload.Promise{
		{
			Names: []string{"older-version"},
			Text:  "no reader and no leader is told of an older version after a newer one",
		},
	},
	Operations: []string{"publish", "read", "close"},
	Recipes: []workload.Entry{
		{Recipe: "careful", Help: "replaces nothing newer, and what it has seen only",
			New: func() *workload.Workload { return workloadOf("careful", New) }},
		{Recipe: "careless", Help: "believes that it leads until it is closed",
			New: func() *workload.Workload { return workloadOf("careless", NewCareless) }},
	},
}

// publishing is an episode: users publish, read, and close their publishers in turns.
type publishing struct{ workload.Script[string] }

func workloadOf(recipe string, new func(recipes.Conn, string) *Publisher) *workload.Workload {
	return workload.Own("publisher", func(p *world.Plan, path string) workload.Episode {
		e := &publishing{workload.NewScript[string](p, path)}
		e.Draw(p, p.Ops, func(p *world.Plan, label string) string {
			return [...]string{"publish", "read", "close"}[p.Choose(3, label)]
		})
		return e
	}, workload.Named(recipe)).Making(func(c recipes.Conn, path string) any { return new(c, path) })
}

// Parents returns the znodes that exist from the start.
func (e *publishing) Parents() []string { return []string{e.Path, e.Path + "/config"} }

func (e *publishing) Run(u workload.User) {
	publisher := e.Make(u).(caller)
	for name := range e.Turns(u) {
		ctx, op := u.Begin(name, "", true)
		version, err := publisher.Call(ctx, name, "")
		outcome := world.OK
		if err != nil {
			outcome = world.Unknown
		}
		u.End(op, outcome, version, err)
	}
}

// caller is a publisher, here or in another process.
type caller interface {
	Call(ctx context.Context, op, arg string) (result string, err error)
}

// Call carries out an operation by its name.
func (p *Publisher) Call(ctx context.Context, op, _ string) (string, error) {
	var version int64
	var err error
	switch op {
	case "publish":
		version, err = p.Publish(ctx)
	case "read":
		version, err = p.Read()
	case "close":
		err = p.Close(ctx)
	}
	return strconv.FormatInt(version, 10), err
}

// MayWaitForever: who publishes may wait until the leader closes.
func (e *publishing) MayWaitForever(_, waiting []*world.Op) (inOrder []*world.Op) {
	for _, op := range waiting {
		if op.Name == "publish" {
			inOrder = append(inOrder, op)
		}
	}
	return inOrder
}

func (e *publishing) History(v *workload.View) linearizability.History {
	return v.History(func(op *world.Op, add func(linearizability.Operation)) { add(v.Operation(op)) })
}

// Judge checks that no operation observes an older version after one that observed a newer version has returned.
func (e *publishing) Judge(v *workload.View) workload.Judgement {
	j := e.Judging(v)
	v.Left.Notes = true // a leader that has not closed keeps a znode
	j.Add(v.Stuck()...)
	j.Add(v.UnexpectedErrors(func(op *world.Op) bool { return errors.Is(op.Err, recipes.ErrLost) })...)
	for _, newer := range v.Ops {
		for _, older := range v.Ops {
			if newer.Return < older.Call && tells(newer) > tells(older) && tells(older) >= 0 {
				j.Add(sim.Violation{Property: "older-version", Ops: []*world.Op{newer, older}, Message: fmt.Sprintf(
					"%s's %s at %s had version %s, and after it %s's %s at %s had version %s",
					workload.Who(newer), newer.Name,
					v.When(newer), newer.Result, workload.Who(older), older.Name, v.When(older), older.Result)})
				return j
			}
		}
	}
	j.History = e.History(v)
	return j
}

// tells is the version that an operation returned, -1 if none.
func tells(op *world.Op) int {
	version, err := strconv.Atoi(op.Result)
	if err != nil || op.Outcome != world.OK || op.Name == "close" {
		return -1
	}
	return version
}
