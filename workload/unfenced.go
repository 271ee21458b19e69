package workload

import (
	"context"

	"github.com/zktorture/zktorture/recipes"
)

// unfenced is the project's own lock without its tokens: as good as a lock alone can be. Whoever sleeps between
// looking at it and writing may write after its session has ended and somebody else has written, and a resource
// that is given no token cannot know.
type unfenced struct{ lock *recipes.Lock }

func newUnfenced(c recipes.Conn, path string) Locker { return unfenced{recipes.NewLock(c, path)} }

func (u unfenced) Lock(ctx context.Context) error            { return u.lock.Lock(ctx) }
func (u unfenced) TryLock(ctx context.Context) (bool, error) { return u.lock.TryLock(ctx) }
func (u unfenced) Unlock(ctx context.Context) error          { return u.lock.Unlock(ctx) }
func (u unfenced) Lost() <-chan struct{}                     { return u.lock.Lost() }
