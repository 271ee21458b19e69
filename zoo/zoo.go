// Package zoo has recipes that are known to be broken, as they were published, and hunts them.
//
// # The model
//
// An [Animal] is a published recipe with one of its bugs. Its twin is the same recipe without that bug. A harness that
// does not find the animal cannot see the bug; one that accuses the twin gives false alarms. A [Hunter] looks for the
// property that the animal is known to break, and runs episodes of the twin, half of them near what it has found. The canary is a planted bug that
// must be found at a known rate: if it is not, the harness itself is broken.
//
// The recipes are in package published, with their bugs marked. [Absentees] lists the bugs that have no animal, and why.
package zoo

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
	_ "github.com/zktorture/zktorture/zoo/listed" // what the command knows by name
	"github.com/zktorture/zktorture/zoo/published"
)

// Animal is a recipe with one known bug. Its twin is the same recipe without it.
type Animal struct {
	ID       string // of the bug, in the comments BUG: of the published recipe
	Title    string // what is wrong
	Source   string // where the recipe, or the report of its bug, was published
	Property string // what it breaks, as violations name it
	Needs    string // the faults without which it cannot show, as for --faults
	Clients  int    // at most

	Bugs         published.Bugs // in force in Broken: the one of this id, and those without which it does not show
	Broken, Twin func() *workload.Workload
	// Rate, if set, is the share of the episodes in which the animal is to be found, within a factor of two: it is a
	// canary. If it is found more often or more rarely the harness is broken.
	Rate float64
	// Exact says that the Go runtime decides whether the bug shows: only in exact mode is it searched for on purpose, and
	// replayed (see [sim.Exact]).
	Exact bool
}

// Animals lists the animals that this program can hunt: without those that need exact mode, unless it is built for that.
func Animals() []Animal {
	return slices.DeleteFunc(slices.Clone(animals()), func(a Animal) bool { return a.Exact && !sim.Exact() })
}

// Skipped lists the animals that it cannot.
func Skipped() []Animal {
	return slices.DeleteFunc(slices.Clone(animals()), func(a Animal) bool { return !a.Exact || sim.Exact() })
}

// Absent is a published bug that has no animal, and why.
type Absent struct{ ID, Reason string }

// Absentees lists the published bugs that have no animal.
func Absentees() []Absent {
	return []Absent{
		{"SP9", "the monitor is missing only between two assignments of a constructor, with no request and so no " +
			"other thread's turn between them; the event lost there tells of the first connection, " +
			"and nobody waits for that"},
	}
}

// Find returns the animals with these ids, all without any.
func Find(ids []string) ([]Animal, error) {
	if len(ids) == 0 {
		return Animals(), nil
	}
	var found []Animal
	all := animals()
	for _, id := range ids {
		i := slices.IndexFunc(all, func(a Animal) bool { return strings.EqualFold(a.ID, id) })
		if i < 0 {
			known := strings.Join(animalIDs(), ", ")
			return nil, fmt.Errorf("no known bug is called %q: there are %s", id, known)
		}
		found = append(found, all[i])
	}
	return found, nil
}

// init makes the animals and their twins known by name.
func init() {
	for _, a := range animals() {
		for _, new := range []func() *workload.Workload{a.Broken, a.Twin} {
			w := new()
			if _, err := workload.Find(w.Name(), w.Recipe()); err == nil {
				continue // several have a twin in common
			}
			bug := workload.Kind{Name: w.Name(), KnownBugs: []workload.Entry{{Recipe: w.Recipe(), New: new}}}
			if err := workload.Register(&bug); err != nil {
				panic(err)
			}
		}
	}
}

func animalIDs() (ids []string) {
	for _, a := range Animals() {
		ids = append(ids, a.ID)
	}
	return ids
}

// canaryRate is how often the canary shows: in one episode of 64 it is broken, and in nearly all of those somebody
// gets the lock and is alive afterwards.
const canaryRate = 1.0 / 64

func canary(bugs published.Bugs, _ ...workload.Option) *workload.Workload {
	if !bugs.Has("canary") {
		return workload.Lock(newOurLock, workload.Named("zoo/canary-fixed"), workload.Existing())
	}
	sound := workload.Lock(newOurLock, workload.Existing())
	broken := workload.Lock(func(c recipes.Conn, path string) workload.Locker {
		return forgetful{newOurLock(c, path), c, path}
	}, workload.Existing())
	return workload.Own("lock", func(p *world.Plan, path string) workload.Episode {
		if p.Choose(64, "canary") == 63 {
			return broken.Episode(p, path)
		}
		return sound.Episode(p, path)
	}, workload.Named("zoo/canary"), workload.JudgedBy(linearizability.Lock()))
}

// forgetful makes a znode more than it deletes.
type forgetful struct {
	workload.Locker
	conn recipes.Conn
	path string
}

func (f forgetful) Lock(ctx context.Context) error {
	err := f.Locker.Lock(ctx)
	if err == nil {
		f.conn.Create(f.path+"/forgotten-"+recipes.NewGUID(f.conn), nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
	}
	return err
}

func newOurLock(c recipes.Conn, path string) workload.Locker { return recipes.NewLock(c, path) }
