package zoo

import (
	"cmp"
	_ "embed"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/workload"
	"github.com/zktorture/zktorture/zoo/published"
)

// table lists the animals: an id, the property that it breaks, the faults that it needs, the number of clients, the
// bugs without which it does not show, where it was published, and what is wrong.
//
//go:embed animals.tsv
var table string

// animals is the table with the breed of each animal.
var animals = sync.OnceValue(func() (all []Animal) {
	known := map[string]breed{}
	for _, b := range slices.Concat(lockBreeds, zkLockBreeds, barrierBreeds, queueBreeds, otherBreeds) {
		for _, id := range strings.Fields(b.ids) {
			known[id] = b.breed
		}
	}
	_, rows, _ := strings.Cut(table, "\n")
	for row := range strings.Lines(rows) {
		id, _, _ := strings.Cut(row, "\t")
		all = append(all, known[id].animal(strings.Split(strings.TrimSpace(row), "\t")))
	}
	return all
})

// breed is a published recipe, and how it is used.
type breed struct {
	name  string // of the recipe; the bugs in force follow
	twin  string // the name that it has without bugs, if other breeds are the same then: they are run once
	make  func(bugs published.Bugs, opts ...workload.Option) *workload.Workload
	opts  []workload.Option
	rate  float64 // see Animal
	exact bool    // see Animal
}

// breeds says which animals are of which breed.
type breeds []struct {
	ids string
	breed
}

// animal is the animal of a row of the table.
func (b breed) animal(row []string) Animal {
	bugs := published.OnlyBugs(append(strings.Fields(row[4]), row[0])...)
	clients, _ := strconv.Atoi(row[3])
	return Animal{
		ID: row[0], Property: row[1], Needs: row[2], Clients: clients, Source: row[5], Title: row[6],
		Bugs: bugs, Rate: b.rate, Exact: b.exact,
		Broken: func() *workload.Workload { return b.with(bugs) },
		Twin:   b.mended,
	}
}

// mended is the workload of the recipe without bugs.
func (b breed) mended() *workload.Workload {
	b.name = cmp.Or(b.twin, b.name)
	return b.with(published.NoBugs())
}

// mendedAs names what the breed has in common with others when it is without bugs.
func (b breed) mendedAs(name string) breed { b.twin = name; return b }

// with is the workload of the recipe with these bugs. Its object's znode may be there when an episode begins.
func (b breed) with(bugs published.Bugs) *workload.Workload {
	opts := []workload.Option{workload.Named(b.name + bugs.String()), workload.Existing()}
	return b.make(bugs, append(opts, b.opts...)...)
}

// constructor is a recipe's.
type constructor[R any] func(c recipes.Conn, path string, bugs published.Bugs) R

// kind is a workload's constructor, for recipes of the interface I.
type kind[I any] func(new func(recipes.Conn, string) I, opts ...workload.Option) *workload.Workload

// own is a breed whose users share nothing.
func own[I, R any](of kind[I], name string, new constructor[R], opts ...workload.Option) breed {
	return breed{name: name, opts: opts, make: func(bugs published.Bugs, opts ...workload.Option) *workload.Workload {
		return of(func(c recipes.Conn, path string) I { return any(new(c, path, bugs)).(I) }, opts...)
	}}
}

// class is a breed whose users of one process share its static fields. These are zero at first if fresh is nil.
func class[I, S, R any](of kind[I], name string, fresh func() *S,
	new func(*S, recipes.Conn, string, published.Bugs) R, opts ...workload.Option) breed {
	return breed{name: name, opts: opts, make: func(bugs published.Bugs, opts ...workload.Option) *workload.Workload {
		return of(nil, append(opts, workload.Statics(fresh, func(statics *S, c recipes.Conn, path string) I {
			return any(new(statics, c, path, bugs)).(I)
		}))...)
	}}
}

// by has the breed use another client library than go-zookeeper.
func (b breed) by(client goclient.ClientSemantics) breed {
	return b.used("", workload.Dialect{Client: client}.Option())
}

// racing says that the breed's bugs show by what the Go runtime decides.
func (b breed) racing() breed { b.exact = true; return b }

// used has the breed used in a way of its own, which its name says.
func (b breed) used(how string, opts ...workload.Option) breed {
	b.name, b.opts = b.name+how, append(slices.Clip(b.opts), opts...)
	return b
}
