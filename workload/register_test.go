package workload

import (
	"slices"
	"strings"
	"testing"
)

func TestRegister(t *testing.T) {
	table, before := slices.Clone(kinds), len(lockKind.Recipes)
	t.Cleanup(func() { kinds = table })
	named := func(kind, recipe string) func() *Workload {
		return func() *Workload { return Own(kind, nil, Named(recipe)) }
	}
	of := func(kind string, recipes ...string) *Kind {
		k := &Kind{Name: kind}
		for _, r := range recipes {
			k.Recipes = append(k.Recipes, Entry{Recipe: r, New: named(kind, r)})
		}
		return k
	}
	wrong := of("store", "a")
	wrong.Recipes[0].New = named("store", "b")
	for says, bad := range map[string]*Kind{
		"needs a name":                   of("", "a"),
		"a recipe at least":              of("store"),
		"without a colon":                of("store", "exec:a"),
		"two recipes \"a\" of store":     of("store", "a", "a"),
		"two recipes \"ours\" of lock":   of("lock", "ours"),
		"calls itself \"b\" of store":    wrong,
		"recipe \"\" of store needs":     of("store", ""),
		"recipe \"none\" of store needs": {Name: "store", Recipes: []Entry{{Recipe: "none"}}},
	} {
		if err := Register(of("fine", "a"), bad); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
		if _, err := KindNamed("fine"); err == nil {
			t.Fatal("something is registered although another kind is wrong")
		}
	}

	bug := &Kind{Name: "store", KnownBugs: []Entry{{Recipe: "a, bugs: 1", New: named("store", "a, bugs: 1")}}}
	if err := Register(bug); err == nil {
		t.Error("a kind of known bugs alone is registered")
	}
	if err := Register(of("store", "a", "b"), of("lock", "mine")); err != nil {
		t.Fatal(err)
	}
	if err := Register(bug); err != nil {
		t.Fatal(err)
	}
	if err := Register(bug); err == nil {
		t.Error("a known bug is there twice")
	}
	for _, c := range [][3]string{{"store", "", "a"}, {"store", "b", "b"},
		{"store", "a, bugs: 1", "a, bugs: 1"}, {"lock", "", Ours},
		{"lock", "mine", "mine"}} {
		if w, err := Find(c[0], c[1]); err != nil || w.Recipe() != c[2] {
			t.Errorf("%s %q: %v, %v", c[0], c[1], w, err)
		}
	}
	if len(lockKind.Recipes) != before {
		t.Error("the kind that was there has changed")
	}
	if all := Entries(); all[len(all)-1].Kind != "store" || all[len(all)-1].Recipe != "b" {
		t.Errorf("the last entry is %v", all[len(all)-1])
	}
}
