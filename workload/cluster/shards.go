package cluster

// The shards workload.
//
// Clients, some with two users on one session, own shares of three shards: each takes its share, uses it, yields it and
// leaves, again and again; they give up, crash and come back. When all faults are over all come once more, and whenever
// the members have changed they yield and share anew, until nothing moves: then each shard has an owner.

import (
	"context"
	"slices"
	"strings"

	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/recipes/cluster"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

var shardsKind = workload.Kind{
	Name: "shards",
	Promises: []workload.Promise{
		{Names: []string{"exclusion"}, Text: "no shard is owned by two users at the same time whose sessions are alive"},
		{Names: []string{"unowned"}, Text: "at rest each shard has an owner"},
		{Names: []string{"belief"}, Text: "a client that has been told that its session is gone stops acting as an owner"},
		{Names: []string{"progress"}, Text: "once faults are healed, and owners yield, every user gets its share"},
		workload.Usual.Tidy, workload.Usual.NoLeaks,
	},
	Recipes: ours("cluster.Shards: 3 shards, by locks, among the members of a group, told of loss",
		func(opts ...workload.Option) *workload.Workload {
			return Shards(func(c recipes.Conn, path string, shards []string) Sharer {
				return cluster.NewShards(c, path, shards)
			}, opts...)
		}),
}

// Sharer is a member of a group among which shards are divided, as the workload uses it. Share makes it a member and
// waits until it owns its share, Stale waits until that is to be divided anew, Yield gives it back, and Leave ends the
// membership. A recipe may also have
//
//	Lost() <-chan struct{}  // closed when the present share is known to be lost
//	IsOwner() bool
//
// Optional methods are tested, too.
type Sharer interface {
	Share(context.Context) ([]string, error)
	Stale(context.Context) error
	Yield(context.Context) error
	Leave(context.Context) error
}

// shards are what is divided.
var shards = []string{"s1", "s2", "s3"}

// Shards is the shards workload for a recipe. new is called once for each user of a session; all that it returns must be
// about the same group and the same shards.
func Shards(
	new func(c recipes.Conn, path string, shards []string) Sharer, opts ...workload.Option,
) *workload.Workload {
	return workload.Own("shards", func(p *world.Plan, path string) workload.Episode {
		e := &shardsEpisode{Script: workload.NewScript[stay](p, path)}
		e.Draw(p, p.Ops, func(p *world.Plan, label string) stay {
			return stay{drawTenure(p, label), p.Choose(2, label) == 1}
		})
		return e
	}, opts...).Making(func(c recipes.Conn, path string) any { return new(c, path, slices.Clone(shards)) })
}

// share is what users of this kind contend for.
var share = workload.Role{Noun: "the share", Acquire: "share", Release: "yield"}

// stay is a turn as a member, which shares perhaps again.
type stay struct {
	tenure
	again bool
}

type shardsEpisode struct{ workload.Script[stay] }

// MayWaitForever: when all users wait for a change, and each shard has an owner, they are at rest. A shard without one may
// be a dead member's, whose session has not ended yet: then they wait for that.
func (e *shardsEpisode) MayWaitForever(_, waiting []*world.Op) []*world.Op {
	if slices.ContainsFunc(waiting, moving) || ownerless(waiting) != "" {
		return nil
	}
	return waiting
}

// ownerless is a shard that none owns of those who wait for a change, "" if there is none.
func ownerless(waiting []*world.Op) string {
	for _, shard := range shards {
		if !slices.ContainsFunc(waiting, func(op *world.Op) bool { return len(common(op.Arg, shard)) > 0 }) {
			return shard
		}
	}
	return ""
}

// moving reports whether an operation is no wait for a change.
func moving(op *world.Op) bool { return op.Name != "stale" || op.Cancelled }

// owner is a user, and what it owns.
type owner struct {
	workload.User
	sharer Sharer
	own    string
	turn   stay // the last one
}

func (e *shardsEpisode) Run(u workload.User) {
	m := &owner{User: u, sharer: e.Make(u).(Sharer)}
	e.AtDeath(u, func() { e.Over(u, m.sharer) })
	for m.turn = range e.Turns(u) {
		if m.share() && m.turn.again {
			m.share()
		}
		m.leave()
	}
	u.AwaitLiveness()
	for m.settle() {
	}
	m.leave()
	e.Over(u, m.sharer)
}

// share owns a share for a while.
func (m *owner) share() bool {
	h := m.take()
	if h != nil {
		m.turn.use(m, h, share.Noun)
		share.GiveBack(h, m.sharer.Yield)
	}
	return h != nil
}

func (m *owner) take() *workload.Held {
	h, _ := share.TakeSome(m, m.sharer, func(ctx context.Context) (string, error) {
		own, err := m.sharer.Share(ctx)
		m.own = strings.Join(own, " ")
		return m.own, err
	})
	return h
}

// settle owns a share until the members are others, or nothing moves any more; then it is false.
func (m *owner) settle() bool {
	h := m.take()
	if h == nil {
		return true
	}
	ctx, op := m.Begin("stale", m.own, false)
	err := m.sharer.Stale(ctx)
	rests := ctx.Err() != nil
	m.End(op, workload.OutcomeOf(err), "", err)
	if !rests {
		m.turn.use(m, h, share.Noun)
	}
	share.GiveBack(h, m.sharer.Yield)
	return !rests
}

// leave ends the membership. It tries again, as the recipe may have been able to do nothing.
func (m *owner) leave() {
	for range 2 {
		ctx, op := m.Begin("leave", "", true)
		err := m.sharer.Leave(ctx)
		m.End(op, workload.OutcomeOf(err), "", err)
		if err == nil || workload.Gone(op) || op.Cancelled {
			return
		}
	}
}

func (e *shardsEpisode) History(v *workload.View) linearizability.History { return v.Texts() }

func (e *shardsEpisode) Judge(v *workload.View) workload.Judgement {
	j := e.Judging(v)
	judgeParts(&j, v, share)
	j.Add(unowned(v.Waiting)...)
	stuck := *v // but for those that wait as long as the others do
	stuck.Waiting = slices.DeleteFunc(slices.Clone(v.Waiting), func(op *world.Op) bool { return !moving(op) })
	j.Add(stuck.Stuck()...)
	if len(j.Violations) == 0 {
		j.Add(v.Leaks()...)
	}
	j.History = e.History(v)
	return j
}

// unowned finds a shard without an owner when all users wait for a change, and none comes.
func unowned(waiting []*world.Op) []sim.Violation {
	shard := ownerless(waiting)
	if len(waiting) == 0 || shard == "" || slices.ContainsFunc(waiting, moving) {
		return nil
	}
	var owned []string
	for _, op := range waiting {
		owned = append(owned, workload.Who(op)+" owns ["+op.Arg+"]")
	}
	return workload.Broken("unowned", waiting,
		"nobody owns %s, although nothing moves any more: %s", shard, strings.Join(owned, ", "))
}
