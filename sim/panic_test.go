package sim_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/workload"
)

// crasher panics on a goroutine of its own when it is called by a second user, so that no one can recover from it.
type crasher struct {
	workload.Locker
	conn recipes.Conn
}

func newCrasher(c recipes.Conn, path string) workload.Locker {
	return crasher{recipes.NewLock(c, path), c}
}

func (c crasher) Lock(ctx context.Context) error {
	if session := c.conn.(interface{ SessionID() int64 }).SessionID(); session&0xff == 2 {
		go outOfCheese()
		<-make(chan struct{})
	}
	return c.Locker.Lock(ctx)
}

func outOfCheese() { panic("out of cheese") }

// A panic that ends the process names the episode.
func TestPanicNamesTheEpisode(t *testing.T) {
	out, status := child(t, "test crasher 3")
	named := regexp.MustCompile(`(?m)^goroutine .* labels:\{"zktorture": "seed 3, episode [1-9]\d*"[^}]*\}\]:\n.*outOfCheese`)
	if status != 2 || !strings.Contains(out, "panic: out of cheese") || !named.MatchString(out) {
		t.Errorf("status %d, or no episode is named:\n%s", status, out)
	}
}

// What the flag names is run again, and nothing else; a recipe that has been mended passes.
func TestReplayFlag(t *testing.T) {
	cfg := sim.Config{Episodes: 5, Seed: 1}
	r := run(t, broken(t, "panics"), cfg)
	example, err := cfg.Counterexample(r, r.Violations[0])
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	name := filepath.Join(t.TempDir(), "panics.json")
	if err := example.Write(&text); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ recipe, file, want string }{
		{"panics", name, "panicker: c1 panicked in acquire: "},
		{"mended", name, ".json failed before, and passes now; "},
		{"queue/broken", name, "this test is of queue"},
		{"mended", "nowhere", "-zktorture.replay=nowhere: open nowhere"},
		{"mended", os.Args[0], "not a counterexample"},
	} {
		out, _ := childWith(t, "test "+c.recipe+" 1", []string{"-zktorture.replay=" + c.file})
		if !strings.Contains(out, c.want) {
			t.Errorf("%s of %s: %q is missing in:\n%s", c.recipe, c.file, c.want, out)
		}
	}
}
