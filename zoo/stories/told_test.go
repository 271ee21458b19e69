package stories_test

import (
	"context"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/story"
	"github.com/zktorture/zktorture/workload"
)

// deafLock receives the events of its connection and ignores them.
type deafLock struct{ lock *recipes.Lock }

func newDeaf(c recipes.Conn, path string) workload.Locker {
	events := recipes.SessionEvents(c)
	go func() {
		for range events {
		}
	}()
	return deafLock{recipes.NewLock(c, path)}
}

func (l deafLock) Lock(ctx context.Context) error   { return l.lock.Lock(ctx) }
func (l deafLock) Unlock(ctx context.Context) error { return l.lock.Unlock(ctx) }
func (l deafLock) Token() int64                     { return l.lock.Token() }
func (l deafLock) Lost() <-chan struct{}            { return nil }

// A story shows when a recipe that subscribes to connection events receives them.
func TestToldEvents(t *testing.T) {
	testkit.ManyWorlds(t)
	w, cfg := workload.Lock(newDeaf), sim.Config{Episodes: 10000, Seed: 7, Faults: world.Expiry, Until: "belief"}
	result, err := sim.Run(t.Context(), w, cfg)
	if err != nil || len(result.Violations) != 1 {
		t.Fatalf("%v, %+v", err, result.Violations)
	}
	c, err := cfg.Counterexample(result, result.Violations[0])
	if err != nil {
		t.Fatal(err)
	}
	s, err := story.Tell(t.Context(), w, c)
	if err != nil {
		t.Fatal(err)
	}
	sound(t, s)
	completePage(t, s)
	if text := s.Text(story.TextOptions{}); !strings.Contains(text, "told Expired") {
		t.Errorf("it does not say that the reader was told of the expiry:\n%s", text)
	}
}
