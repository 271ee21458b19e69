package workload

import (
	"slices"
	"strings"
	"sync"

	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim/world"
)

// Option declares what a recipe does not promise although its kind does, or what the recipe needs. Waived properties are
// not judged, and a run lists them (sim.Result.Waived).
type Option func(*terms)

// terms are what the options of a workload say.
type terms struct {
	recipe    string // its name
	existing  bool
	semantics goclient.ClientSemantics
	door      world.Door
	at        []string // other addresses of the servers, see At
	model     linearizability.Model
	waived    []string
	beside    []string // endings of paths

	provisioned bool // see [Provisioned]
	setUp       []func(c recipes.Conn, path string) error
	closes      bool // see Closing

	overrun   bool                                   // see JudgeWrites
	callbacks bool                                   // see Dialect
	patient   bool                                   // see Dialect
	tellsTime bool                                   // package recipes does, see world.Terms
	layout    func(p *world.Plan, parties int) []int // of a double barrier's users
	apart     bool                                   // see Dialect
	statics   func() maker                           // if set, makes an episode's constructor of recipes: see Statics
}

func agree(opts []Option) (t terms) {
	t = terms{recipe: unnamed, layout: drawParties}
	for _, opt := range opts {
		opt(&t)
	}
	return t
}

// unnamed is the name of recipes without one.
const unnamed = "custom"

// Named names the recipe. Default "custom".
func Named(recipe string) Option { return func(t *terms) { t.recipe = recipe } }

// Existing says that the znode of the object's path may be there when an episode begins. By default the recipe makes
// it.
func Existing() Option { return func(t *terms) { t.existing = true } }

// JudgedBy is the model of the histories, for a custom kind.
func JudgedBy(m linearizability.Model) Option { return func(t *terms) { t.model = m } }

// Waive says that the recipe does not promise these properties of its kind.
func Waive(properties ...string) Option {
	return func(t *terms) {
		t.waived = append(t.waived, properties...)
		slices.Sort(t.waived)
		t.waived = slices.Compact(t.waived)
	}
}

// Unfair waives that waiters are served in the order of their znodes, and that a deletion wakes one of them only.
func Unfair() Option { return Waive("order", "herd") }

// Beside gives the recipe znodes beside its object's, which are there when an episode begins: their paths are the
// object's with these endings. An ending that begins with "/" is a znode below the object's.
func Beside(endings ...string) Option {
	return func(t *terms) { t.beside = append(t.beside, endings...) }
}

// SetUp makes what the recipe needs: it is called once for each episode, before any client is there, over a
// connection at which nothing goes wrong. If it fails the episode is unknown.
func SetUp(f func(c recipes.Conn, path string) error) Option {
	return func(t *terms) { t.setUp = append(t.setUp, f) }
}

// Provisioned says that the tree in which the recipe lives, with what [Beside] and [SetUp] make, was made long ago: every
// server has it from the start, and nobody removes an empty part of it.
func Provisioned() Option { return func(t *terms) { t.provisioned = true } }

// At says at which addresses, as host:port, code that connects by itself ([Of] with [Servers]) expects the servers, beside
// the Addresses and Literals that it is given. In a simulated world all of them lead to the world's servers, which takes
// exact mode (torture test): in an ordinary build such a workload is not run.
func At(addresses ...string) Option { return func(t *terms) { t.at = append(t.at, addresses...) } }

// Closing says that the recipe has to be closed: each user calls its Close() or Close() error when its script is over,
// so that goroutines of the recipe's own can end. If its process dies, that comes when the episode is over.
func Closing() Option { return func(t *terms) { t.closes = true } }

// JudgeWrites has a lock judged by what the resource accepted that it guards, too: no write of a holder after one of a
// later holder (zombie-write). No lock can promise that alone; with tokens that the resource checks it follows from the
// order of the tokens.
func JudgeWrites() Option { return func(t *terms) { t.overrun = true } }

// Dialect is how recipes that were written elsewhere differ from what this package expects; it is for those of package
// zoo. The zero value is none of it.
type Dialect struct {
	// Client is the client library that the recipe was written for. A world that simulates clients gives it this one.
	Client goclient.ClientSemantics
	// Callbacks has a lock whose recipe has Calls() int judged by how often it tells its user that it holds the lock
	// (callback): once for each time.
	Callbacks bool
	// Patient says that the take of a queue promises to wait, whatever happens to the connection: if it fails by that and
	// has removed nothing, that is unexpected.
	Patient bool
	// Full gives a double barrier as many users as a round takes, so that none is ever too many, and Sparse any number of
	// users, often too few for a round. With Apart there are two double barriers: the first users of all clients meet at
	// one, the second users at the other.
	Full, Sparse, Apart bool
}

// Option has a recipe judged by its dialect.
func (d Dialect) Option() Option {
	return func(t *terms) {
		if d.Client != goclient.SemanticsGo {
			t.semantics = d.Client
		}
		t.callbacks, t.patient = t.callbacks || d.Callbacks, t.patient || d.Patient
		switch {
		case d.Full:
			t.layout = fullLayout
		case d.Sparse:
			t.layout = func(p *world.Plan, _ int) []int { return drawUsers(p) }
		case d.Apart:
			t.apart, t.beside = true, append(t.beside, otherEnding)
			t.layout = func(_ *world.Plan, parties int) []int { return slices.Repeat([]int{2}, parties) }
		}
	}
}

// Statics makes the recipe from what all users of one process share, as the objects of a class share its static
// fields; it replaces the workload's constructor. Each episode begins with fresh ones, zero if fresh is nil, and so
// does a process that starts again. T is what the constructor of the kind makes.
func Statics[S, T any](fresh func() *S, make func(statics *S, c recipes.Conn, path string) T) Option {
	if fresh == nil {
		fresh = func() *S { return new(S) }
	}
	return func(t *terms) {
		t.statics = func() maker {
			of := byProcess(fresh)
			return func(c recipes.Conn, path string) any { return make(of(processOf(c)), c, path) }
		}
	}
}

// byProcess returns the statics of a process, which are fresh at its first call.
func byProcess[S any](fresh func() *S) func(process any) *S {
	var mu sync.Mutex
	all := map[any]*S{}
	return func(process any) *S {
		mu.Lock()
		defer mu.Unlock()
		if all[process] == nil {
			all[process] = fresh()
		}
		return all[process]
	}
}

// processOf identifies the process to which a connection belongs.
func processOf(c recipes.Conn) any {
	if handle, ok := c.(*goclient.Conn); ok {
		return handle.Client
	}
	if handle, ok := c.(interface{ Unwrap() recipes.Conn }); ok {
		return processOf(handle.Unwrap())
	}
	return c
}

// within reports whether something is below the object's path when an episode begins, so that this is there.
func (t *terms) within() bool {
	return slices.ContainsFunc(t.beside, func(ending string) bool { return strings.HasPrefix(ending, "/") })
}

// waives reports whether a property is not promised.
func (t *terms) waives(property string) bool { return t != nil && slices.Contains(t.waived, property) }

// shared says that users of one process share what is no business of the world's, so that they must not begin
// anything in the same step.
func (t *terms) shared() bool { return t.statics != nil }

// entries returns what makes a kind's entries of constructors.
func entries[T any](
	kind string, of func(new func(recipes.Conn, string) T, opts ...Option) *Workload,
) func(recipe, help string, new func(recipes.Conn, string) T, opts ...Option) Entry {
	return func(recipe, help string, new func(recipes.Conn, string) T, opts ...Option) Entry {
		return entry(kind, recipe, help, func(opts ...Option) *Workload { return of(new, opts...) }, opts...)
	}
}

// entry is a recipe that the command knows by name.
func entry(kind, recipe, help string, of func(opts ...Option) *Workload, opts ...Option) Entry {
	return Entry{kind, recipe, help, func() *Workload {
		ours := func(t *terms) { t.tellsTime = recipe == Ours || strings.HasPrefix(recipe, Ours+"/") }
		return of(append([]Option{Named(recipe), Existing(), ours}, opts...)...)
	}}
}
