package workload

// The semaphore workload.
//
// Clients, some with two users on one session, acquire a permit and release it again and again; they try, wait, give
// up, crash and come back. A third of the holds take time, as of a lock.

import (
	"context"

	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/recipes"
)

// semaphoreKind is the table's line for this kind, see [Kind].
var semaphoreKind = Kind{
	Name:  "semaphore",
	Model: linearizability.Semaphore(defaultPermits),
	Promises: []Promise{
		{Names: []string{"exclusion"}, Text: "users whose sessions are alive never hold more permits than there are"},
		sober("a holder"),
		{Names: []string{"fencing"}, Text: "a later hold has a greater token"},
		{Names: []string{"order"}, Text: "waiters get permits in queue order"},
		{Names: []string{"herd"}, Text: "one release wakes at most as many waiters as there are permits"},
		served("every waiter gets a permit"),
		busy, prompt, truthful, usable, tidy, noLeaks,
	},
	Recipes: []Entry{
		semaphoreEntry(Ours, defaultPermits, "recipes.Semaphore of 2 permits: fair, with tokens"),
		semaphoreEntry("ours/3", 3, "recipes.Semaphore of 3 permits"),
	},
}

// defaultPermits is how many permits the default semaphore has.
const defaultPermits = 2

func semaphoreEntry(recipe string, permits int, help string) Entry {
	return entry("semaphore", recipe, help, func(opts ...Option) *Workload {
		return Semaphore(permits, func(c recipes.Conn, path string) Permitter {
			return recipes.NewSemaphore(c, path, permits)
		}, opts...)
	})
}

// Permitter is a semaphore as the workload uses it: Acquire gets a permit and Release gives
// it back. A user has one permit at a time. A recipe may also have
//
//	TryAcquire(context.Context) (bool, error)
//	Lost() <-chan struct{}  // closed when the present permit is known to be lost
//	Token() int64           // of the present grant
//	IsOwner() bool
//
// Optional methods are tested, too.
type Permitter interface {
	Acquire(context.Context) error
	Release(context.Context) error
}

func tryAcquire(s any) trying {
	if t, has := can[interface {
		TryAcquire(context.Context) (bool, error)
	}](s, "TryAcquire"); has {
		return t.TryAcquire
	}
	return nil
}

// Semaphore is the semaphore workload for a recipe with a number of permits. new is called once for
// each user of a session; all that it returns must be about the same semaphore.
func Semaphore(permits int, new func(c recipes.Conn, path string) Permitter, opts ...Option) *Workload {
	c := contest[Permitter]{
		kind: "semaphore", model: linearizability.Semaphore(permits), places: permits,
		ways: []way[Permitter]{{
			Role: roleOf("a permit", "acquire", linearizability.Semaphore(permits)),
			take: Permitter.Acquire, give: Permitter.Release, tries: tryAcquire,
		}},
		note: "use", with: "with a permit",
		// Of two that wait at the same time the one with the smaller token may learn of its grant later.
		ordered: func(a, b Hold) bool { return a.To <= b.Op.Call },
	}
	return c.workload(new, opts)
}
