package command

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/cmd/internal/cli/about"
	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
	"github.com/zktorture/zktorture/zoo"
)

// torture list names exactly what can be run.
func TestList(t *testing.T) {
	t.Chdir(t.TempDir())
	status, text, _ := command(t, "list")
	if status != console.ExitOK {
		t.Fatalf("exit status %d", status)
	}
	for _, e := range workload.Entries() {
		runs(t, e.Kind, "--recipe", e.Recipe)
		_, section, ok := strings.Cut("\n"+text, "\n"+e.Kind+"\n")
		section, _, _ = strings.Cut(section, "\n\n")
		if !ok || !strings.Contains(section, "--recipe "+e.Recipe+" ") || !strings.Contains(section, e.Help) {
			t.Errorf("recipe %s of %s is not listed in\n%s", e.Recipe, e.Kind, section)
		}
	}
	for fault := range world.EveryFault.Each() {
		runs(t, "lock", "--faults", fault.String())
		if !strings.Contains(text, "\n  "+fault.String()+" ") || !strings.Contains(text, fault.Help()) {
			t.Errorf("fault %v is not listed", fault)
		}
	}
	_, strategies, _ := strings.Cut(text, "strategies (--strategy)\n")
	strategies, _, _ = strings.Cut(strategies, "\n\n")
	for line := range strings.Lines(strategies) {
		name, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name == sim.Near {
			runs(t, "lock", "--strategy", name, "--near", someCounterexample(t))
			continue
		}
		runs(t, "lock", "--strategy", name)
	}
}

// The object has all that the text shows.
func TestListJSON(t *testing.T) {
	all := listed(t)
	_, text, _ := command(t, "list")
	for _, e := range workload.Entries() {
		i := slices.IndexFunc(all.Kinds, func(k about.ListedKind) bool { return k.Name == e.Kind })
		if i < 0 || !slices.Contains(all.Kinds[i].Recipes, about.ListedName{Name: e.Recipe, Help: e.Help}) {
			t.Errorf("recipe %s of %s is not in the object", e.Recipe, e.Kind)
		}
	}
	shown := map[string]int{"\n    ": 0, "\n  --recipe ": 0}
	for _, k := range all.Kinds {
		shown["\n    "] += len(k.Properties)
		shown["\n  --recipe "] += len(k.Recipes)
	}
	for mark, n := range shown {
		if got := strings.Count(text, mark); got != n || n == 0 {
			t.Errorf("the text has %d lines that begin %q, and the object %d", got, mark, n)
		}
	}
	for what, n := range map[string]int{"faults": len(all.Faults), "strategies": len(all.Strategies), "models": len(all.Models)} {
		_, section, _ := command(t, "list", what)
		first, _, _ := strings.Cut(section, "\n\n")
		if got := strings.Count(first, "\n  "); got != n || n == 0 {
			t.Errorf("the text has %d %s, and the object %d:\n%s", got, what, n, section)
		}
	}
}

// Each known bug is listed with what it is, and runs by the names that are listed.
func TestListZoo(t *testing.T) {
	t.Chdir(t.TempDir())
	bugs := listed(t, "zoo").Zoo
	_, text, _ := command(t, "list", "zoo")
	for _, a := range slices.Concat(zoo.KnownBugs(), zoo.Skipped()) {
		i := slices.IndexFunc(bugs, func(l about.ListedBug) bool { return l.ID == a.ID })
		if i < 0 || bugs[i].Title != a.Title || bugs[i].Source != a.Source || bugs[i].Property != a.Property {
			t.Errorf("%s is not in the object", a.ID)
		}
		for _, part := range []string{a.ID + " ", a.Title, a.Property, a.Source} {
			if !strings.Contains(text, part) {
				t.Errorf("%q of %s is not in the text", part, a.ID)
			}
		}
	}
	if len(bugs) != len(zoo.KnownBugs())+len(zoo.Skipped()) {
		t.Errorf("%d bugs are listed", len(bugs))
	}
	runs(t, bugs[0].Kind, "--recipe", bugs[0].Recipe)
	runs(t, bugs[0].Kind, "--recipe", bugs[0].Fixed)
}

// listed is what torture list --json prints.
func listed(t *testing.T, args ...string) (all about.Listing) {
	t.Helper()
	status, stdout, stderr := command(t, append([]string{"list", "--json"}, args...)...)
	if err := json.Unmarshal([]byte(stdout), &all); err != nil || status != console.ExitOK || stderr != "" {
		t.Fatalf("exit status %d, %v\n%s", status, err, stderr)
	}
	return all
}

// someCounterexample returns the file of one of a lock.
func someCounterexample(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "out")
	command(t, "run", "lock", "--recipe", "published/WriteLock", "--seed", "1", "--faults", "none", "--episodes", "5", "--out", dir)
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil {
			if _, err := sim.ReadCounterexample(bytes.NewReader(text)); err == nil {
				return file
			}
		}
	}
	t.Fatalf("%v: no counterexample among %v", err, files)
	return ""
}

// Counterexamples of another kind begin no episodes.
func TestNearIsOfTheKind(t *testing.T) {
	t.Chdir(t.TempDir())
	status, _, stderr := command(t, "run", "queue", "--strategy", sim.Near, "--near", someCounterexample(t))
	if status != console.ExitUnknown || !strings.Contains(stderr, "it is of a lock, exact mode: false; expected is a queue") {
		t.Errorf("exit status %d: %s", status, stderr)
	}
}

// runs fails the test if the command line is rejected. The outcome of the run does not matter.
func runs(t *testing.T, args ...string) {
	t.Helper()
	status, _, stderr := command(t, append([]string{"run", "--seed", "1", "--episodes", "2"}, args...)...)
	if status == console.ExitUnknown || stderr != "" {
		t.Errorf("torture run %v: exit status %d, %s", args, status, stderr)
	}
}
