package workload

import (
	"sync"

	"github.com/zktorture/zktorture/recipes"
)

// withStatics makes the recipe from what all users of one process share, as the objects of a class
// share its static fields. Each episode begins with new ones, and so does a process that starts
// again.
func withStatics[S any](make func(statics *S, c recipes.Conn, path string) Locker) LockOption {
	return func(e *lockEpisode) {
		var mu sync.Mutex
		all := map[any]*S{}
		statics := func(process any) *S {
			mu.Lock()
			defer mu.Unlock()
			if all[process] == nil {
				all[process] = new(S)
			}
			return all[process]
		}
		e.shared = true
		e.new = func(c recipes.Conn, path string) Locker { return make(statics(processOf(c)), c, path) }
	}
}
