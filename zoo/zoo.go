// Package zoo has recipes that are known to be broken, as they were published, and hunts their bugs.
//
// # The model
//
// A [KnownBug] is a published recipe with one of its bugs. Its fixed version is the same recipe without that bug. A harness
// that does not find the bug cannot see it; one that accuses the fixed version gives false alarms. A [Hunter] looks for the
// property that the bug is known to break, and runs episodes of the fixed version, half of them near what it has found. The
// canary is a planted bug that must be found at a known rate: if it is not, the harness itself is broken.
//
// There is a bug for each pair of a property and the faults that are needed to break it, and there are all that the documents
// have which the zoo began with: Apache's WriteLock and DistributedQueue, the tutorial's barriers and queues, the class Locks,
// locks by create-and-watch, and the class ZkLock. (But for SP9, a constructor's: its monitor is missing between two assignments,
// with no request and so no other thread's turn between them.)
//
// The recipes are in package published, with their bugs marked.
package zoo

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
	_ "github.com/zktorture/zktorture/zoo/listed" // what the command knows by name
	"github.com/zktorture/zktorture/zoo/published"
)

// KnownBug is a recipe with one known bug.
type KnownBug struct {
	ID       string // in the comments BUG: of the published recipe
	Title    string // what is wrong
	Source   string // where the recipe, or the report of its bug, was published
	Property string // what it breaks, as violations name it
	Needs    string // the faults without which it cannot show, as for --faults
	Clients  int    // at most

	Broken, Fixed func() *workload.Workload // with this bug and those without which it does not show; without any
	// Rate, if set, is the share of the episodes in which the bug is to be found, within a factor of two: it is a canary. If it
	// is found more often or more rarely the harness is broken.
	Rate float64
	// Exact says that the Go runtime decides whether the bug shows: only in exact mode is it searched for on purpose, and
	// replayed (see [sim.Exact]).
	Exact bool
}

// KnownBugs lists those that this program can hunt: without those that need exact mode, unless it is built for that.
func KnownBugs() []KnownBug {
	return slices.DeleteFunc(slices.Clone(all()), func(b KnownBug) bool { return b.Exact && !sim.Exact() })
}

// Skipped lists those that it cannot.
func Skipped() []KnownBug {
	return slices.DeleteFunc(slices.Clone(all()), func(b KnownBug) bool { return !b.Exact || sim.Exact() })
}

// Find returns the known bugs with these ids, all that can be hunted without any.
func Find(ids []string) ([]KnownBug, error) {
	if len(ids) == 0 {
		return KnownBugs(), nil
	}
	var found []KnownBug
	for _, id := range ids {
		i := slices.IndexFunc(all(), func(b KnownBug) bool { return strings.EqualFold(b.ID, id) })
		if i < 0 {
			var known []string
			for _, b := range all() {
				known = append(known, b.ID)
			}
			return nil, fmt.Errorf("no known bug is called %q: there are %s", id, strings.Join(known, ", "))
		}
		found = append(found, all()[i])
	}
	return found, nil
}

// table lists the known bugs: an id, the family of the recipe, the property that the bug breaks, the faults that it needs, the
// number of clients, the bugs without which it does not show, where it was published, and what is wrong.
//
//go:embed known.tsv
var table string

// all is the table.
var all = sync.OnceValue(func() (all []KnownBug) {
	_, rows, _ := strings.Cut(table, "\n")
	for row := range strings.Lines(rows) {
		columns := strings.Split(strings.TrimSpace(row), "\t")
		f := families[columns[1]]
		bugs := published.OnlyBugs(append(strings.Fields(columns[5]), columns[0])...)
		clients, _ := strconv.Atoi(columns[4])
		all = append(all, KnownBug{
			ID: columns[0], Property: columns[2], Needs: columns[3], Clients: clients, Source: columns[6], Title: columns[7],
			Rate: f.rate, Exact: f.exact,
			Broken: func() *workload.Workload { return f.with(bugs) }, Fixed: f.without,
		})
	}
	return all
})

// Faults are those with which the bug is hunted: all, and what it needs besides; none if it needs none.
func (b KnownBug) Faults() world.Faults {
	needs, err := world.ParseFaults(b.Needs)
	if err != nil || needs == world.NoFaults {
		return world.NoFaults
	}
	return world.AllFaults | needs
}

// init makes the known bugs and their fixed versions known by name.
func init() {
	for _, b := range all() {
		for _, new := range []func() *workload.Workload{b.Broken, b.Fixed} {
			w := new()
			if _, err := workload.Find(w.Name(), w.Recipe()); err == nil {
				continue // several have a fixed version in common
			}
			kind := workload.Kind{Name: w.Name(), KnownBugs: []workload.Entry{{Recipe: w.Recipe(), New: new}}}
			if err := workload.Register(&kind); err != nil {
				panic(err)
			}
		}
	}
}
