package workload

// The read/write lock workload.
//
// Clients, some with two users on one session, read and write under one lock again and again; they try, wait, give up,
// crash and come back. A third of the holds take time, as of a lock.

import (
	"context"
	"slices"

	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim/world"
)

// rwLockKind is the table's line for this kind, see [Kind].
var rwLockKind = Kind{
	Name:  "rwlock",
	Model: linearizability.RWLock(),
	Promises: []Promise{
		{
			Names: []string{"exclusion"},
			Text:  "a writer holds the lock alone while its session and the others' are alive",
		},
		sober("a holder"),
		{
			Names: []string{"fencing"},
			Text:  "a writer's token is greater than all earlier ones, a reader's is greater than those of all earlier writers",
		},
		{Names: []string{"order"}, Text: "waiters get the lock in queue order, readers together"},
		{Names: []string{"herd"}, Text: "one release wakes at most one writer, and wakes readers only if a writer releases"},
		served("every waiter gets the lock"),
		busy, prompt, truthful, usable, tidy, noLeaks,
	},
	Recipes: []Entry{
		rwLockEntry(Ours, "recipes.RWLock: fair, with tokens",
			func(c recipes.Conn, path string) RWLocker { return recipes.NewRWLock(c, path) }),
	},
}

var rwLockEntry = entries("rwlock", RWLock)

// RWLocker is a read/write lock as the workload uses it. A user holds it in one way at a time. A recipe may also have
//
//	TryLock(context.Context) (bool, error)
//	TryRLock(context.Context) (bool, error)
//	Lost() <-chan struct{}  // closed when the present hold is known to be lost
//	Token() int64           // of the present hold
//	IsOwner() bool
//
// Optional methods are tested, too.
type RWLocker interface {
	RLock(context.Context) error
	RUnlock(context.Context) error
	Lock(context.Context) error
	Unlock(context.Context) error
}

func tryRLock(l any) trying {
	if t, has := can[interface {
		TryRLock(context.Context) (bool, error)
	}](l, "TryRLock"); has {
		return t.TryRLock
	}
	return nil
}

// RWLock is the read/write lock workload for a recipe. new is called once for each user of a
// session; all that it returns must be about the same lock.
func RWLock(new func(c recipes.Conn, path string) RWLocker, opts ...Option) *Workload {
	return rwContest.workload(new, opts)
}

var rwContest = contest[RWLocker]{
	kind: "rwlock", model: linearizability.RWLock(),
	ways: []way[RWLocker]{{
		Role: roleOf("the lock", "acquire", linearizability.RWLock()),
		take: RWLocker.Lock, give: RWLocker.Unlock, tries: tryLock,
	}, {
		Role: roleOf("the lock", "racquire", linearizability.RWLock()),
		take: RWLocker.RLock, give: RWLocker.RUnlock, tries: tryRLock,
	}},
	note: "use", with: "under the lock",
	exclude: conflict, ordered: conflict, holds: rwHolds, history: rwHistory,
	excused: func(maker, op *world.Op) bool { // a writer's end wakes any number of readers
		return maker != nil && writes(maker) && reads(op)
	},
}

// The two ways to hold a read/write lock, see [Role].
func writes(op *world.Op) bool { return op.Name == "acquire" || op.Name == "try" }
func reads(op *world.Op) bool  { return op.Name == "racquire" || op.Name == "rtry" }
func takes(op *world.Op) bool  { return writes(op) || reads(op) }

// rwHolds are the holds of writers and readers.
func rwHolds(v *View) []Hold {
	all := slices.Concat(v.holds(writes, endedBy(takes, "release")), v.holds(reads, endedBy(takes, "rrelease")))
	slices.SortStableFunc(all, byGrant)
	return all
}

// conflict reports whether one of two holds is not a reader's.
func conflict(a, b Hold) bool { return !reads(a.Op) || !reads(b.Op) }

// rwHistory is the episode for the model of a read/write lock with tokens.
func rwHistory(v *View) linearizability.History {
	return byReturn(v.holdings(takes, rwHolds(v), func(h Hold) Role {
		if reads(h.Op) {
			return Role{Release: "rrelease"}
		}
		return Role{Release: "release"}
	}))
}
