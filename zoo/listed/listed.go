// Package listed makes known by name recipes that are broken on purpose, as in
// torture run lock --recipe published/WriteLock. Import it for that alone.
package listed

import (
	"context"

	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/workload"
	"github.com/zktorture/zktorture/zoo/published"
)

func init() {
	if err := workload.Register(&locks, &queues); err != nil {
		panic(err)
	}
}

var locks = workload.Kind{Name: "lock", Recipes: []workload.Entry{
	{
		Recipe: "published/WriteLock", Help: "Apache ZooKeeper 3.4.6 recipes/lock, as published",
		New: func() *workload.Workload {
			return workload.Lock(func(c recipes.Conn, path string) workload.Locker {
				return published.NewLocker(c, path, published.AllBugs())
			}, workload.Named("published/WriteLock"), workload.Existing())
		},
	},
	{
		Recipe: "unfenced",
		Help: "recipes.Lock before a resource that does not check tokens: " +
			"a holder that slept writes after its successor",
		New: func() *workload.Workload {
			return workload.Lock(newUnfenced,
				workload.Named("unfenced"), workload.Existing(), workload.JudgeWrites())
		},
	},
}}

var queues = workload.Kind{Name: "queue", Recipes: []workload.Entry{{
	Recipe: "published/DistributedQueue",
	Help:   "Apache ZooKeeper 3.4.6 recipes/queue, as published",
	New: func() *workload.Workload {
		return workload.Queue(func(c recipes.Conn, path string) workload.Queuer {
			return published.NewQueue(c, path, published.AllBugs())
		}, workload.Named("published/DistributedQueue"), workload.Existing())
	},
}}}

// unfenced is the project's own lock without its tokens: as good as a lock alone can be. A holder
// that sleeps between looking at it and writing may write after its session has ended and another
// client has written, and a resource that is given no token cannot know.
type unfenced struct{ lock *recipes.Lock }

func newUnfenced(c recipes.Conn, path string) workload.Locker {
	return unfenced{recipes.NewLock(c, path)}
}

func (u unfenced) Lock(ctx context.Context) error            { return u.lock.Lock(ctx) }
func (u unfenced) TryLock(ctx context.Context) (bool, error) { return u.lock.TryLock(ctx) }
func (u unfenced) Unlock(ctx context.Context) error          { return u.lock.Unlock(ctx) }
func (u unfenced) Lost() <-chan struct{}                     { return u.lock.Lost() }
