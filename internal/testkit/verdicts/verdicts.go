// Package verdicts is what tests of workloads want of runs, of recipes of ours and of the zoo's.
package verdicts

import (
	"strings"
	"testing"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// Find finds a recipe by its name.
func Find(t *testing.T, kind, recipe string) *workload.Workload {
	t.Helper()
	w, err := workload.Find(kind, recipe)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// Run is sim.Run.
func Run(t *testing.T, w sim.Workload, cfg sim.Config) sim.Result {
	t.Helper()
	testkit.ManyWorlds(t)
	r, err := sim.Run(t.Context(), w, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Message is that of the violation of a property; "" if it was not broken.
func Message(r sim.Result, property string) string {
	for _, f := range r.Violations {
		if f.Property == property {
			return f.Message
		}
	}
	return ""
}

// Clean wants nothing broken in some hundred episodes.
func Clean(t *testing.T, w sim.Workload, faults world.Faults) {
	t.Helper()
	r := Run(t, w, sim.Config{Episodes: testkit.Sized(250, 2000), Seed: 1, Faults: faults, NoFaultsAtAll: true})
	if r.Verdict != sim.VerdictOK {
		t.Errorf("under %v: %s (%s)", faults, r.Verdict, r.Reason)
		for _, f := range r.Violations {
			t.Log(f.Story(w))
		}
	}
}

// Broken wants a property broken, with a message that says so.
func Broken(t *testing.T, w sim.Workload, faults world.Faults, property, part string) {
	t.Helper()
	r := Run(t, w, sim.Config{Episodes: 2000, Until: property, Seed: 1, Faults: faults, NoFaultsAtAll: true, NoShrink: true})
	if text := Message(r, property); !strings.Contains(text, part) {
		t.Errorf("under %v: %s has the message %q, want %q in it (verdict %s, %d properties)", faults, property, text,
			part, r.Verdict, len(r.Violations))
	}
}
