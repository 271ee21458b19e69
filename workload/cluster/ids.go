package cluster

// The ids workload.
//
// Clients, some with two users on one session, lease a number, use it and give it back, again and again; they give up,
// crash and come back. There are fewer numbers than users may be, so that some wait.

import (
	"context"
	"strconv"
	"time"

	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/recipes/cluster"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// defaultIDs is how many numbers there are, for recipes that are known by name.
const defaultIDs = 2

var idsKind = workload.Kind{
	Name: "ids",
	Promises: []workload.Promise{
		{Names: []string{"exclusion"}, Text: "no number is leased to two users at the same time whose sessions are alive"},
		{Names: []string{"range"}, Text: "a number is one of those that there are"},
		{Names: []string{"belief"}, Text: "a client that has been told that its session is gone stops using the number"},
		{Names: []string{"progress"}, Text: "once faults are healed every user gets a number"},
		workload.Usual.Usable, workload.Usual.Tidy, workload.Usual.NoLeaks,
	},
	Recipes: ours("cluster.IDs: 2 numbers, each of who holds its lock, told of loss",
		func(opts ...workload.Option) *workload.Workload {
			return IDs(defaultIDs, func(c recipes.Conn, path string) Leaser {
				return cluster.NewIDs(c, path, defaultIDs)
			}, opts...)
		}),
}

// Leaser leases numbers as the workload uses it: Lease waits for one from 0 on, and Free gives it back. A recipe may also
// have
//
//	Lost() <-chan struct{}  // closed when the present lease is known to be lost
//	IsOwner() bool
//
// Optional methods are tested, too.
type Leaser interface {
	Lease(context.Context) (int64, error)
	Free(context.Context) error
}

// IDs is the ids workload for a recipe that leases the numbers below n. new is called once for each user of a session; all
// that it returns must be about the same numbers.
func IDs(n int, new func(c recipes.Conn, path string) Leaser, opts ...workload.Option) *workload.Workload {
	return workload.Own("ids", func(p *world.Plan, path string) workload.Episode {
		e := &idsEpisode{workload.NewScript[tenure](p, path), n}
		e.Draw(p, p.Ops, drawTenure)
		e.Afresh(p)
		return e
	}, opts...).Making(func(c recipes.Conn, path string) any { return new(c, path) })
}

// number is what users of this kind contend for.
var number = workload.Role{Noun: "a number", Acquire: "lease", Release: "free"}

// tenure is a turn: how often what is held is used, and whether it takes long to come to an end with it.
type tenure struct {
	uses int
	slow bool
}

func drawTenure(p *world.Plan, label string) tenure {
	return tenure{[...]int{1, 2, 0}[p.Choose(3, label)], p.Choose(4, label) == 3}
}

// long is longer than anybody tries something again and again.
const long = time.Minute

// use uses what is held, as long as its user believes that it is; who takes long, once more after that.
func (t tenure) use(u workload.User, h *workload.Held, what string) {
	once := func() (used bool) {
		if used = h.Believes(); used {
			u.Do("use", func() string { return what })
		}
		return used
	}
	for range t.uses {
		if !once() {
			return
		}
	}
	if t.slow {
		u.Wait(long)
		once()
	}
}

type idsEpisode struct {
	workload.Script[tenure]
	n int
}

func (e *idsEpisode) Run(u workload.User) {
	l := e.Make(u).(Leaser)
	e.AtDeath(u, func() { e.Over(u, l) })
	for turn := range e.Turns(u) {
		if h, _ := lease(u, l); h != nil {
			turn.use(u, h, number.Noun)
			number.GiveBack(h, l.Free)
		}
	}
	e.Finally(u, func() *world.Op {
		h, op := lease(u, l)
		if h != nil {
			number.GiveBack(h, l.Free)
		}
		return op
	})
	e.Over(u, l)
}

func lease(u workload.User, l Leaser) (*workload.Held, *world.Op) {
	return number.TakeSome(u, l, func(ctx context.Context) (string, error) {
		n, err := l.Lease(ctx)
		return strconv.FormatInt(n, 10), err
	})
}

func (e *idsEpisode) History(v *workload.View) linearizability.History { return v.Texts() }

func (e *idsEpisode) Judge(v *workload.View) workload.Judgement {
	j := e.Judging(v)
	judgeParts(&j, v, number)
	j.Add(v.Stuck()...)
	for _, h := range v.Holds(number) {
		if n, _ := strconv.Atoi(h.Op.Result); n < 0 || n >= e.n {
			j.Add(workload.Broken("range", []*world.Op{h.Op},
				"%s got %d: there are the numbers from 0 to %d", v.CallWith(h.Op), n, e.n-1)...)
			break
		}
	}
	if len(j.Violations) == 0 {
		j.Add(v.Leaks()...)
	}
	j.History = e.History(v)
	return j
}
