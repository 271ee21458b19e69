// Package cluster has kinds of recipes for what the processes of a cluster tell each other of themselves. They are made as
// a user's own kinds are, by what package workload exports; commands know them by name.
//
// # The model
//
// What these kinds promise is promised at rest: an instance whose session has expired is listed again, a watcher is told
// of the last change, sooner or later. So the episodes end with a rest ([workload.Script.Rest]), after which users ask
// once more. And a user that still waits then, although what it knows is surely not so any more, has been forgotten: it
// waits for ever, and that is known by the operations alone, in every world.
package cluster

import "github.com/zktorture/zktorture/workload"

// Kinds are those of this package. Whoever imports it knows them by name.
var Kinds = []*workload.Kind{&registryKind, &cacheKind, &idsKind, &shardsKind}

func init() {
	if err := workload.Register(Kinds...); err != nil {
		panic(err)
	}
}

// ours is the entry of this project's own recipe.
func ours(help string, of func(opts ...workload.Option) *workload.Workload) []workload.Entry {
	return []workload.Entry{{Recipe: workload.Ours, Help: help, New: func() *workload.Workload {
		return of(workload.Named(workload.Ours))
	}}}
}

// never is later than every stamp.
const never = int64(1)<<62 - 1
