package cluster

import (
	"context"
	"testing"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/recipes/cluster"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/workload"
)

func TestRegistry(t *testing.T) {
	clean(t, Registry(func(c recipes.Conn, path, name string) Registrar { return cluster.NewRegistry(c, path, name) }))
}

// clean runs a few episodes of a correct recipe (ZKTORTURE_THOROUGH=all: 2,000).
func clean(t *testing.T, w *workload.Workload) {
	t.Helper()
	sim.Check(t, w, sim.WithEpisodes(testkit.Sized(300, 2000)))
}

// wantBroken looks for a violation of a property.
func wantBroken(t *testing.T, w *workload.Workload, property string) {
	t.Helper()
	r, err := sim.Run(t.Context(), w, sim.Config{Episodes: 5000, Seed: 1, Until: property, NoShrink: true})
	if err != nil || len(r.Violations) == 0 || r.Violations[0].Property != property {
		t.Fatalf("%s is not found: %v, %v", property, r.Violations, err)
	}
}

// member is a registry whose instances stay out when their sessions have ended.
type member struct{ *recipes.Group }

func (m member) Register(ctx context.Context) error         { return m.Join(ctx) }
func (m member) Deregister(ctx context.Context) error       { return m.Leave(ctx) }
func (m member) List(ctx context.Context) ([]string, error) { return m.Members(ctx) }

// twice is a registry of which every instance has two entries.
type twice struct{ *cluster.Registry }

func (r twice) List(ctx context.Context) ([]string, error) {
	names, err := r.Registry.List(ctx)
	return append(names, names...), err
}

func TestWrongRegistriesAreFound(t *testing.T) {
	wantBroken(t, Registry(func(c recipes.Conn, path, name string) Registrar {
		return member{recipes.NewGroup(c, path, name)}
	}), "missing")
	wantBroken(t, Registry(func(c recipes.Conn, path, name string) Registrar {
		return twice{cluster.NewRegistry(c, path, name)}
	}), "duplicate")
}
