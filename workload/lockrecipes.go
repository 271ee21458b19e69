package workload

import (
	"context"
	"slices"

	"github.com/zktorture/zktorture/recipes"
)

// multi is a lock on a path together with others, for the lock workload: the path is the one that
// is judged, and guards the resource.
type multi struct {
	*recipes.MultiLock
	path string
}

// Token returns the token of the lock that is judged.
func (m multi) Token() int64 { return m.MultiLock.Token(m.path) }

// multiDirs are the endings of the other directories.
var multiDirs = []string{"-2", "-3"}

// newMulti draws which others there are and names all in an order of its own, so that users meet on overlapping sets.
func newMulti(c recipes.Conn, path string) Locker {
	dirs := []string{path}
	draw := recipes.NewGUID(c)
	for i, ending := range multiDirs {
		if draw[i]%3 > 0 {
			dirs = append(dirs, path+ending)
		}
	}
	if draw[len(multiDirs)]%2 > 0 {
		slices.Reverse(dirs)
	}
	return multi{recipes.NewMultiLock(c, dirs), path}
}

// unfenced is the project's own lock without its tokens: as good as a lock alone can be. A holder that sleeps between
// looking at it and writing may write after its session has ended and another client has written, and a resource that
// is given no token cannot know.
type unfenced struct{ lock *recipes.Lock }

func newUnfenced(c recipes.Conn, path string) Locker { return unfenced{recipes.NewLock(c, path)} }

func (u unfenced) Lock(ctx context.Context) error            { return u.lock.Lock(ctx) }
func (u unfenced) TryLock(ctx context.Context) (bool, error) { return u.lock.TryLock(ctx) }
func (u unfenced) Unlock(ctx context.Context) error          { return u.lock.Unlock(ctx) }
func (u unfenced) Lost() <-chan struct{}                     { return u.lock.Lost() }
