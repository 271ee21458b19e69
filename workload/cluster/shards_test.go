package cluster

import (
	"testing"

	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim/world"
)

// Users who wait for a change are at rest once each shard has an owner: one without may be a dead member's, whose session
// has not ended yet, and that end is the change.
func TestRest(t *testing.T) {
	waits := func(own string) *world.Op { return &world.Op{Name: "stale", Arg: own} }
	for _, tt := range []struct {
		waiting []*world.Op
		rest    bool
	}{
		{[]*world.Op{waits("s1 s2 s3")}, true},
		{[]*world.Op{waits("s1 s3"), waits("s2")}, true},
		{[]*world.Op{waits("s1 s3")}, false},
		{[]*world.Op{waits("s1 s2 s3"), {Name: "share"}}, false},
		{nil, false},
	} {
		if rest := new(shardsEpisode).MayWaitForever(nil, tt.waiting) != nil; rest != tt.rest {
			t.Errorf("%v: rest %v, want %v", tt.waiting, rest, tt.rest)
		}
	}
}

// A recipe without a name is called by its type, as those of package workload are.
func TestNamedByType(t *testing.T) {
	w := Cache(func(recipes.Conn, string) Cacher { return &wrongCache{} })
	if w.Make(nil, "/cache"); w.Type() != "cluster.wrongCache" {
		t.Errorf("it is called %q", w.Type())
	}
	w = Registry(func(recipes.Conn, string, string) Registrar { return named{} })
	w.Make(nil, "/registry").(func(string) Registrar)("m1a")
	if w.Type() != "cluster.named" {
		t.Errorf("it is called %q", w.Type())
	}
}

// named is made by name.
type named struct{ Registrar }
