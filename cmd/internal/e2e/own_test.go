package e2e

import (
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/workload"
)

// ownKinds are what the program mytorture of the scripts has beside others: a recipe of an existing kind.
func ownKinds() []*workload.Kind {
	simple := workload.Entry{Recipe: "mine", Help: "a lock of one's own", New: func() *workload.Workload {
		return workload.Lock(func(c recipes.Conn, path string) workload.Locker {
			return recipes.NewSimpleWatchLock(c, path)
		}, workload.Named("mine"), workload.Unfair())
	}}
	return []*workload.Kind{{Name: "lock", Recipes: []workload.Entry{simple}}}
}
