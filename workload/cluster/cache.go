package cluster

// The cache workload.
//
// Users set one value, each time to another one, remove it, and wait for the next one that they have not been told. In the
// end all wait for the next one, until nothing moves any more: what they were told last is the last value then.

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/recipes/cluster"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

var cacheKind = workload.Kind{
	Name: "cache",
	Promises: []workload.Promise{
		{Names: []string{"backward"}, Text: "no client is told of an older value after a newer one"},
		{Names: []string{"repeated"}, Text: "a client is told of a change once"},
		{Names: []string{"phantom"}, Text: "what a client is told was set"},
		{Names: []string{"stale-watch"}, Text: "who waits for the next value has been told of the last one"},
		{Names: []string{"progress"}, Text: "every call returns, but for those that wait for the next value"},
		workload.Usual.Usable,
		{Title: "no leaks", Names: []string{"goroutine-leak"}, Text: "no goroutine is left"},
	},
	Recipes: ours("cluster.Cache: each value once, in the order of the servers", func(opts ...workload.Option) *workload.Workload {
		return Cache(func(c recipes.Conn, path string) Cacher { return cluster.NewCache(c, path) }, opts...)
	}),
}

// Cacher is a value as the workload uses it. A Set or an Unset that fails may have happened; one that returns nil leaves
// nothing that may still happen. Next returns what it has not returned before.
type Cacher interface {
	Set(ctx context.Context, value []byte) error
	Unset(context.Context) error
	Next(context.Context) ([]byte, error)
}

// Cache is the cache workload for a recipe. new is called once for each user of a session; all must be about the same
// value.
func Cache(new func(c recipes.Conn, path string) Cacher, opts ...workload.Option) *workload.Workload {
	return workload.Own("cache", planCache, opts...).Making(func(c recipes.Conn, path string) any { return new(c, path) })
}

// cacheEpisode is one planned episode. A turn is the name of an operation.
type cacheEpisode struct{ workload.Script[string] }

func planCache(p *world.Plan, path string) workload.Episode {
	e := &cacheEpisode{workload.NewScript[string](p, path)}
	e.Missing = true
	e.Draw(p, p.Ops, workload.OneOf("set", "next", "set", "next", "unset"))
	e.Afresh(p)
	return e
}

// MayWaitForever: a wait for the next value may, unless there surely is one. Then nothing is ended, as what came next
// might wake it.
func (e *cacheEpisode) MayWaitForever(all, waiting []*world.Op) (inOrder []*world.Op) {
	for _, op := range waiting {
		switch {
		case op.Name != "next" || op.Cancelled:
		case unheard(all, op) != nil:
			return nil
		default:
			inOrder = append(inOrder, op)
		}
	}
	return inOrder
}

func (e *cacheEpisode) Run(u workload.User) {
	c := e.Make(u).(Cacher)
	e.AtDeath(u, func() { e.Over(u, c) })
	n := 0
	set := func() *world.Op {
		n++
		value := fmt.Sprintf("v%d%c%d-%d", u.Client()+1, 'a'+u.Index(), u.Life()+1, n)
		return change(u, "set", value, func(ctx context.Context) error { return c.Set(ctx, []byte(value)) })
	}
	for turn := range e.Turns(u) {
		switch turn {
		case "set":
			set()
		case "unset":
			change(u, "unset", "", c.Unset)
		case "next":
			next(u, c)
		}
	}
	e.Finally(u, set)
	for told := ""; ; { // until nothing moves
		op := next(u, c)
		if op.Err != nil || op.Result == told {
			break
		}
		told = op.Result
	}
	e.Over(u, c)
}

// change runs an operation that may have happened if it fails.
func change(u workload.User, name, arg string, do func(context.Context) error) *world.Op {
	ctx, op := u.Begin(name, arg, true)
	err := do(ctx)
	u.End(op, workload.OutcomeOf(err), "", err)
	return op
}

func next(u workload.User, c Cacher) *world.Op {
	ctx, op := u.Begin("next", "", true)
	value, err := c.Next(ctx)
	if err != nil {
		u.End(op, world.Fail, "", err)
	} else {
		u.End(op, world.OK, string(value), nil)
	}
	return op
}

// History is what the clients saw.
func (e *cacheEpisode) History(v *workload.View) linearizability.History { return v.Texts() }

// Judge says what was told wrongly, and who waits in vain.
func (e *cacheEpisode) Judge(v *workload.View) workload.Judgement {
	j := e.Judging(v)
	for _, op := range v.Waiting {
		if set := unheard(v.Ops, op); set != nil {
			j.Add(workload.Broken("stale-watch", []*world.Op{op, set}, "%s waits in next, called at %s, and is not told of %s, "+
				"which was set at %s", workload.Who(op), v.Moment(op.Call), set.Arg, v.When(set))...)
		}
	}
	if len(j.Violations) == 0 {
		j.Add(v.Stuck()...)
	}
	order, known := v.Changes()
	j.Judges("repeated", known || !v.Faulty())
	j.Add(wrongTold(v, order, known)...)
	j.Add(v.UnexpectedErrors(func(op *world.Op) bool {
		return v.Faulty() && errors.Is(op.Err, recipes.ErrUnknownOutcome)
	})...)
	j.History = v.Texts()
	return j
}

// setOf returns the operation that set a value, nil if none did.
func setOf(ops []*world.Op, value string) *world.Op {
	i := slices.IndexFunc(ops, func(op *world.Op) bool { return op.Name == "set" && op.Arg == value })
	if i < 0 {
		return nil
	}
	return ops[i]
}

// before reports whether an operation was surely over when another one was called.
func before(op, other *world.Op) bool { return op.Outcome == world.OK && op.Return < other.Call }

// tells reports whether an operation told a user of a value, in the life of its process in which it did another one.
func tells(op, by *world.Op) bool {
	return op.Name == "next" && op.Outcome == world.OK && workload.SameUser(op, by)
}

// unheard returns an operation that surely set the value that a waiting user would have to be told of; nil if there may be
// none: what came last may be what it was told last, or that the value was removed.
func unheard(ops []*world.Op, waiting *world.Op) *world.Op {
	var told *world.Op // that set what it was told last
	for _, op := range ops {
		if tells(op, waiting) {
			told = setOf(ops, op.Result)
		}
	}
	heard := slices.ContainsFunc(ops, func(op *world.Op) bool { return tells(op, waiting) })
	for _, set := range ops {
		removed := func(op *world.Op) bool { return op.Name == "unset" && op.Outcome != world.Fail && !before(op, set) }
		if set.Name == "set" && set.Outcome == world.OK && !slices.ContainsFunc(ops, removed) &&
			(!heard || told != nil && before(told, set)) {
			return set
		}
	}
	return nil
}

// wrongTold finds the first value that was told wrongly. order is what the servers committed, if that is known: then a
// value may be told again that a recipe has set again, as the reply was lost.
func wrongTold(v *workload.View, order []world.Change, known bool) []sim.Violation {
	at := map[*world.Op]int{} // by the operation that told it: the change behind the one that wrote it
	for i, op := range v.Ops {
		if !tells(op, op) {
			continue
		}
		found := func(property, format string, args ...any) []sim.Violation {
			return workload.Broken(property, []*world.Op{op}, "%s returned %s, "+format, append([]any{v.CallWith(op), op.Result}, args...)...)
		}
		set := setOf(v.Ops, op.Result)
		if set == nil || set.Call > op.Return {
			return found("phantom", "which nobody had set")
		}
		var last *world.Op
		for _, earlier := range v.Ops[:i] {
			if !tells(earlier, op) {
				continue
			}
			if last = earlier; !known && before(set, setOf(v.Ops, earlier.Result)) {
				return found("backward", "after %s, which was set later", earlier.Result)
			}
		}
		from := at[last]
		n := slices.IndexFunc(order[min(from, len(order)):], func(c world.Change) bool { return c.By == set.Number })
		switch again := last != nil && last.Result == op.Result; {
		case again && (known && n < 0 || !known && !v.Faulty()):
			return found("repeated", "as it had at %s already", v.When(last))
		case known && n < 0:
			return found("backward", "which is older than %s, which it had returned before", last.Result)
		}
		at[op] = from + n + 1
	}
	return nil
}
