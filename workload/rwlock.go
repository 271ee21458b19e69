package workload

// The read/write lock workload.
//
// Clients, some with two users on one session, read and write under one lock again and again; they try, wait, ask
// holders to release, turn their writing into reading, give up, crash and come back. A third of the holds take time,
// as of a lock.

import (
	"context"
	"slices"
	"strconv"

	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim/world"
)

// rwLockKind is the table's line for this kind, see [Kind].
var rwLockKind = Kind{
	Name:     "rwlock",
	Model:    linearizability.RWLock(),
	optional: optionally[rwRecipe](),
	Promises: []Promise{
		{
			Names: []string{"exclusion"},
			Text: "a writer holds the lock alone while its session and the others' are alive; " +
				"no other writer gets in during a downgrade",
		},
		sober("a holder"),
		{
			Names: []string{"fencing"},
			Text:  "a writer's token is greater than all earlier ones, a reader's is greater than those of all earlier writers",
		},
		{Names: []string{"order"}, Text: "waiters get the lock in queue order, readers together"},
		{Names: []string{"herd"}, Text: "one release wakes at most one writer, and wakes readers only if a writer releases"},
		{Names: []string{"revocation"}, Text: "a holder is asked to release the lock only if another client has requested that"},
		served("every waiter gets the lock"),
		busy, prompt, truthful, usable, tidy, noLeaks,
	},
	Recipes: []Entry{
		rwLockEntry(Ours, "recipes.RWLock: fair, with tokens, downgrade and revocation",
			func(c recipes.Conn, path string) RWLocker { return recipes.NewRWLock(c, path) }),
	},
}

var rwLockEntry = entries("rwlock", RWLock)

// RWLocker is a read/write lock as the workload uses it. A user holds it in one way at a time. A recipe may also have
//
//	TryLock(context.Context) (bool, error)
//	TryRLock(context.Context) (bool, error)
//	Downgrade(context.Context) error  // after an error, Unlock ends the hold
//	Lost() <-chan struct{}            // closed when the present hold is known to be lost
//	Token() int64                     // of the present hold
//	IsOwner() bool
//	Revoke(context.Context) error     // asks the holders to release it, and
//	Revoked() <-chan struct{}         // tells the present holder of that
//
// Optional methods are tested, too.
type RWLocker interface {
	RLock(context.Context) error
	RUnlock(context.Context) error
	Lock(context.Context) error
	Unlock(context.Context) error
}

type tryRLocker interface {
	TryRLock(context.Context) (bool, error)
}
type downgrader interface{ Downgrade(context.Context) error }
type revoker interface {
	Revoke(context.Context) error
	Revoked() <-chan struct{}
}

// rwRecipe is a read/write lock with what it can do, see [able].
type rwRecipe struct {
	RWLocker
	Try       tryLocker
	TryRead   tryRLocker
	Downgrade downgrader
	Revoker   revoker
	holder
}

// RWLock is the read/write lock workload for a recipe. new is called once for each user of a
// session; all that it returns must be about the same lock.
func RWLock(new func(c recipes.Conn, path string) RWLocker, opts ...Option) *Workload {
	return rwContest.workload(new, opts)
}

// The ways to hold a read/write lock, by their places in the contest.
const (
	writing = iota
	reading
)

var rwContest = contest[RWLocker, rwRecipe]{
	kind: "rwlock", model: linearizability.RWLock(),
	ways: []way[RWLocker, rwRecipe]{{
		Role: roleOf("the lock", "acquire", linearizability.RWLock()),
		take: RWLocker.Lock, give: RWLocker.Unlock,
		tries: func(l *rwRecipe) func(context.Context) (bool, error) {
			if l.Try == nil {
				return nil
			}
			return l.Try.TryLock
		},
	}, {
		Role: roleOf("the lock", "racquire", linearizability.RWLock()),
		take: RWLocker.RLock, give: RWLocker.RUnlock,
		tries: func(l *rwRecipe) func(context.Context) (bool, error) {
			if l.TryRead == nil {
				return nil
			}
			return l.TryRead.TryRLock
		},
	}},
	note: "use", with: "under the lock",
	before: revoke, quits: asked, after: downgrade,
	exclude: conflict, ordered: numbered, holds: rwHolds, history: rwHistory,
	excused: func(maker, op *world.Op) bool { // a writer's end wakes any number of readers
		return maker != nil && writes(maker) && reads(op)
	},
}

// asked reports whether the holder is asked to release the lock.
func asked(p *contestant[RWLocker, rwRecipe], h *Held) bool {
	if p.can.Revoker == nil {
		return false
	}
	select {
	case <-p.can.Revoker.Revoked():
	default:
		return false
	}
	if p.of.revokes.Load() == 0 {
		h.find(broken("revocation", []*world.Op{h.op},
			"%s, whose %s returned at step %d, is asked to release the lock although nobody has called Revoke",
			Who(h.op), h.op.Name, world.StepOf(h.op.Return))[0])
	}
	return true
}

// revoke asks the holders to release the lock, in some turns.
func revoke(p *contestant[RWLocker, rwRecipe], t contestTurn) (goesOn bool) {
	if !t.revoke || p.can.Revoker == nil {
		return true
	}
	p.of.revokes.Add(1)
	ctx, op := p.Begin("revoke", "", true)
	err := p.can.Revoker.Revoke(ctx)
	end := world.OK
	if err != nil {
		end = world.Unknown
	}
	p.End(op, end, "", err)
	return true
}

// downgrade turns a writer's hold into a reader's, in some turns, and returns how it is held then.
func downgrade(p *contestant[RWLocker, rwRecipe], h *Held, t contestTurn) (way int) {
	if !t.downgrade || p.can.Downgrade == nil {
		return t.way
	}
	if h.asks {
		h.ask()
	}
	ctx, op := p.Begin("downgrade", "", true)
	err := p.can.Downgrade.Downgrade(ctx)
	if err != nil {
		p.End(op, world.Unknown, "", err)
		return writing
	}
	p.Note(op, h)
	h.lasts(op)
	p.End(op, world.OK, strconv.FormatInt(h.token, 10), nil)
	p.use(h)
	return reading
}

// The two ways to hold a read/write lock, see [Role].
func writes(op *world.Op) bool { return op.Name == "acquire" || op.Name == "try" }
func reads(op *world.Op) bool {
	return op.Name == "racquire" || op.Name == "rtry" || op.Name == "downgrade"
}
func takes(op *world.Op) bool { return writes(op) || reads(op) && op.Name != "downgrade" }

// rwHolds are the holds of writers and readers. A downgrade ends the writing when it is called and begins the reading
// when it has returned.
func rwHolds(v *View) []Hold {
	all := slices.Concat(v.holds(writes, endedBy(takes, "release", "downgrade")), v.holds(reads, endedBy(takes, "rrelease")))
	slices.SortStableFunc(all, byGrant)
	return all
}

// conflict reports whether one of two holds is not a reader's.
func conflict(a, b Hold) bool { return !reads(a.Op) || !reads(b.Op) }

// numbered reports whether the token of the later of two holds has to be larger: not if a writer has become a reader.
func numbered(a, b Hold) bool { return conflict(a, b) && a.Op.Data != b.Op.Data }

// rwHistory is the episode for the model of a read/write lock with tokens.
func rwHistory(v *View) linearizability.History {
	holds := v.holds(takes, endedBy(takes, "release", "rrelease"))
	h := v.holdings(takes, holds, func(iv Hold) Role { return Role{Release: v.ends(iv)} })
	for _, op := range v.Ops {
		if op.Name == "downgrade" {
			h = append(h, operationOf(op))
		}
	}
	return byReturn(h)
}

// ends names the release of a hold: a reader's if it was one, or had become one.
func (v *View) ends(iv Hold) string {
	downgraded := slices.ContainsFunc(v.Ops, func(op *world.Op) bool {
		return op.Name == "downgrade" && op.Outcome == world.OK && op.Data == iv.Op.Data
	})
	if reads(iv.Op) || downgraded {
		return "rrelease"
	}
	return "release"
}
