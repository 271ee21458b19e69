package workload

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/zktorture/zktorture/linearizability"
)

// Kind is a kind of recipe: what is promised to its users, and the recipes that are known by name. What its users do
// is in the episodes that its workloads plan.
type Kind struct {
	Name     string
	Model    linearizability.Model // of histories, for recipes of the default size; without a name if there is none
	Promises []Promise
	Recipes  []Entry // the first is the default
	// KnownBugs are found by name, as Recipes are, and not listed: recipes that are broken on purpose, and fixed ones to
	// compare them with.
	KnownBugs []Entry
	// Operations of a custom kind let workers serve it (docs/workers.md), if its episodes [Script.Make] recipes that have
	// Call(ctx context.Context, op, arg string) (result string, err error), with texts as Begin and End of [User] take.
	Operations []string
	// Spared are the faults that find nothing to strike in the simulator, by name, and why. It may be nil.
	Spared map[string]string
}

// Promise is something that the recipes of a kind promise; or, with nothing but Text, something to know about that.
type Promise struct {
	Title string   // what it is called, if not by its Names
	Names []string // the properties that break it
	Text  string   // what it means
	Also  []string // further properties that break it
	Help  string   // what to do about it, in a sentence without an end, for kinds of one's own
}

// sober is promised of kinds whose users act as holders of something.
func sober(as string) Promise {
	return Promise{
		Names: []string{"belief"},
		Text:  "a client that has been told that its session is gone stops acting as " + as,
	}
}

// served is promised of kinds whose users wait behind each other's znodes. What keeps a waiter from what it waits for
// is named: it is first and nothing will wake it (lost-wakeup), it waits for a znode that it made itself (self-block) or
// whose operation is over (orphan), or all wait for each other (deadlock).
func served(all string) Promise {
	return Promise{
		Names: []string{"progress"}, Text: "once faults are healed " + all,
		Also: []string{"lost-wakeup", "self-block", "orphan", "deadlock"},
	}
}

// tidy and noLeaks are promised of every kind.
var tidy = Promise{
	Names: []string{"leak"},
	Text: "after a call that no fault disturbed, calls of its operation by its user have left at most one persistent " +
		"znode in a directory with a sequence number, the session or a random identity in its name",
}

var noLeaks = Promise{
	Title: "no leaks", Names: []string{"watch-leak", "goroutine-leak"},
	Text: "no goroutine is left, nor a watch that can never fire, nor several of one user on one missing znode; Close returns", Also: []string{"hang"},
}

// Usual are promises that are the same for most kinds. Judged are they by [Script.Finally], whose findings are in
// [Script.Judging], and by [View.Leaks].
var Usual = struct{ Usable, Tidy, NoLeaks Promise }{usable, tidy, noLeaks}

// Name is what the promise is called; a text by itself has none.
func (p Promise) Name() string { return cmp.Or(p.Title, strings.Join(p.Names, ", ")) }

// Meaning is what it means, and what else breaks it.
func (p Promise) Meaning() string {
	if len(p.Also) == 0 {
		return p.Text
	}
	return p.Text + " (" + strings.Join(p.Also, ", ") + ")"
}

// String prints the promise as a line.
func (p Promise) String() string {
	if p.Name() == "" {
		return p.Meaning()
	}
	return p.Name() + ": " + p.Meaning()
}

// BrokenBy reports whether a violation of a property breaks the promise.
func (p Promise) BrokenBy(property string) bool {
	return slices.Contains(p.Names, property) || slices.Contains(p.Also, property)
}

// kinds are all that there are. A kind is registered by a line here.
var kinds = []*Kind{
	&lockKind, &rwLockKind, &semaphoreKind, &queueKind, &priorityQueueKind, &lockingQueueKind, &electionKind,
	&membershipKind, &counterKind, &gateKind, &doubleBarrierKind,
}

// Entry is a recipe that the command knows by name.
type Entry struct {
	Kind   string // its name; of a registered recipe that of its [Kind]
	Recipe string
	Help   string // one line
	New    func() *Workload
}

// Ours names this project's own recipe of a kind.
const Ours = "ours"

// Entries lists all known recipes, by kind; the first of each kind is the default.
func Entries() (all []Entry) {
	for _, k := range kinds {
		for _, e := range k.Recipes {
			e.Kind = k.Name
			all = append(all, e)
		}
	}
	return all
}

// KindNamed returns the kind of a name.
func KindNamed(name string) (*Kind, error) {
	if i := slices.IndexFunc(kinds, func(k *Kind) bool { return k.Name == name }); i >= 0 {
		return kinds[i], nil
	}
	return nil, fmt.Errorf("unknown workload %q: there are %s", name, strings.Join(namesOf(kinds), ", "))
}

// Kinds lists all kinds.
func Kinds() []*Kind { return slices.Clone(kinds) }

func namesOf(kinds []*Kind) (names []string) {
	for _, k := range kinds {
		names = append(names, k.Name)
	}
	return names
}

// Find returns the workload of a kind with a recipe; "" is the first one.
func Find(kind, recipe string) (*Workload, error) {
	k, err := KindNamed(kind)
	if err != nil {
		return nil, err
	}
	var known []string
	for _, e := range k.all() {
		if e.Recipe == recipe || recipe == "" {
			return e.New(), nil
		}
	}
	for _, e := range k.Recipes {
		known = append(known, e.Recipe)
	}
	return nil, fmt.Errorf("unknown recipe %q for %s: there are %s", recipe, kind, strings.Join(known, ", "))
}

// Register makes kinds known by name, or further recipes of a kind that is there: those of a [Kind] with its name. The
// workload that a recipe's New makes must have these names ([Named]), because by these a counterexample is found again.
// It is for the beginning of a program, before anything else is asked of this package. The error says what is wrong;
// nothing is registered then.
func Register(more ...*Kind) error {
	for _, k := range more {
		if err := k.check(); err != nil {
			return err
		}
	}
	for _, k := range more {
		if old, err := KindNamed(k.Name); err == nil {
			extended := *old
			extended.Recipes, extended.KnownBugs = slices.Concat(old.Recipes, k.Recipes), slices.Concat(old.KnownBugs, k.KnownBugs)
			kinds[slices.Index(kinds, old)] = &extended
		} else {
			if k.Recipes[0].New().own {
				kind := *k
				kind.Promises, k = slices.Concat(k.Promises, anyKind), &kind
			}
			kinds = append(kinds, k)
		}
	}
	return nil
}

// all are the recipes that are found by name.
func (k *Kind) all() []Entry { return slices.Concat(k.Recipes, k.KnownBugs) }

// check returns an error for a kind that cannot be registered.
func (k *Kind) check() error {
	old, err := KindNamed(k.Name)
	if err != nil {
		old = &Kind{}
	}
	if k.Name == "" || len(k.Recipes) == 0 && len(old.Recipes) == 0 {
		return fmt.Errorf("workload: the kind %q needs a name and a recipe at least", k.Name)
	}
	all, there := k.all(), old.all()
	for i, e := range all {
		has := func(o Entry) bool { return o.Recipe == e.Recipe }
		switch {
		case e.Recipe == "" || i < len(k.Recipes) && strings.Contains(e.Recipe, ":") || e.New == nil:
			return fmt.Errorf("workload: recipe %q of %s needs a name without a colon, and New", e.Recipe, k.Name)
		case slices.ContainsFunc(all[:i], has), slices.ContainsFunc(there, has):
			return fmt.Errorf("workload: there are two recipes %q of %s: give one another name", e.Recipe, k.Name)
		}
		if w := e.New(); w.Name() != k.Name || w.Recipe() != e.Recipe {
			return fmt.Errorf("workload: recipe %q of %s makes a workload that calls itself %q of %s: "+
				"name it by workload.Named", e.Recipe, k.Name, w.Recipe(), w.Name())
		}
	}
	return nil
}
