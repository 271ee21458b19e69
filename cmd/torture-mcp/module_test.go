package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/live/ensemble/posix"
	"github.com/zktorture/zktorture/sim"
)

// ownModule makes a module that uses this one, and connects an agent to its folder.
func ownModule(t *testing.T) *agent {
	t.Helper()
	t.Setenv("GOWORK", "off")
	t.Setenv("GOFLAGS", "-mod=mod")
	root := repository(t)
	a := connect(t, t.TempDir())
	_, mod, _ := strings.Cut(testkit.File(t, filepath.Join(root, "go.mod")), "\n")
	rewrite(t, "go.mod", "module example.com/mine\n"+mod+
		"\nrequire github.com/zktorture/zktorture v0.0.0\nreplace github.com/zktorture/zktorture => "+strconv.Quote(root)+"\n", nil)
	rewrite(t, "go.sum", testkit.File(t, filepath.Join(root, "go.sum")), nil)
	return a
}

// newLock writes into a folder what torture new lock does.
func newLock(t *testing.T, root, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"lock.go", "lock_test.go"} {
		rewrite(t, filepath.Join(dir, name), testkit.File(t, filepath.Join(root, "cmd/internal/scaffold/kinds", name+".txt")), nil)
	}
}

// An agent writes a lock, reads why it breaks, repairs it, breaks it in another way, and repairs that.
func TestAgentsOwnLock(t *testing.T) {
	root := repository(t)
	a := ownModule(t)
	newLock(t, root, "lock")
	run := arguments{"packages": []string{"./lock"}, "faults": "none", "seed": 1, "episodes": 300}

	var all listed
	a.ask("list", arguments{"what": "module"}, &all)
	want := []tested{{Package: "example.com/mine/lock", Dir: "lock", Tests: []string{"TestLock"}, Counterexamples: []string{}}}
	if diff := cmp.Diff(want, all.Packages); diff != "" {
		t.Errorf("the module (-want):\n%s", diff)
	}

	// The lock of the template ignores that the znode has gone.
	first := a.breaks(run)
	if !strings.Contains(first.Title, "waits forever") || first.Cause.Mechanism != "stale-read" || !strings.Contains(first.Source.Lines[first.Source.Marked], "l.conn.ExistsW(l.path)") {
		t.Errorf("the lock of the template: %+v", first)
	}
	var why told
	a.ask("explain", arguments{"file": first.File}, &why)
	if why.Title != first.Title || !strings.Contains(why.Text, "waits forever") || why.Cause.Text != first.Cause.Text {
		t.Errorf("explain says %+v", why)
	}
	var again replayed
	if a.ask("replay", arguments{"file": first.File}, &again); !again.Same {
		t.Errorf("replay says %+v", again)
	}
	edit := func(from, to string) {
		rewrite(t, "lock/lock.go", testkit.File(t, "lock/lock.go"), strings.NewReplacer(from, to))
	}
	edit("_, _, gone, err := l.conn.ExistsW(l.path)\n\t\tif err != nil {\n\t\t\treturn err\n\t\t}",
		"exists, _, gone, err := l.conn.ExistsW(l.path)\n\t\tif err != nil {\n\t\t\treturn err\n\t\t}\n\t\tif !exists {\n\t\t\tcontinue\n\t\t}")
	a.passes(run)
	var repaired replayed
	if a.ask("replay", arguments{"file": first.File}, &repaired); repaired.Same || repaired.Property != "" ||
		!strings.Contains(repaired.Note, "failed before, and passes now") {
		t.Errorf("replay after the repair says %+v", repaired)
	}
	if got := a.refused("explain", arguments{"file": first.File}); !strings.Contains(got, "tells no story now") {
		t.Errorf("explain after the repair says %s", got)
	}

	// Each client creates a znode of its own. The counterexample of the first bug, which is run first, shows this one, too.
	edit("zk.FlagEphemeral, ", "zk.FlagEphemeralSequential, ")
	if second := a.breaks(run); second.Property != "unexpected-error" || second.Help == nil || second.File != first.File {
		t.Errorf("the second bug: %+v", second)
	}
	var other replayed
	if a.ask("replay", arguments{"file": first.File}, &other); other.Same || other.Property != "unexpected-error" || other.Note == "" {
		t.Errorf("replay of the second bug says %+v", other)
	}
	edit("zk.FlagEphemeralSequential, ", "zk.FlagEphemeral, ")
	a.passes(run)
	a.ask("list", arguments{"what": "module", "dir": "lock"}, &all)
	if len(all.Packages) != 1 || len(all.Packages[0].Counterexamples) != 1 || all.Packages[0].Counterexamples[0] != first.File {
		t.Errorf("the module has %+v", all.Packages)
	}
}

// breaks runs tests and returns the story that they tell.
func (a *agent) breaks(in arguments) *told {
	a.t.Helper()
	var out outcome
	a.ask("test", in, &out)
	if out.Verdict != sim.VerdictViolation || len(out.Stories) != 1 || out.Stories[0].File == "" ||
		!strings.Contains(out.Output, "help: ") {
		a.t.Fatalf("test says %s: %+v\n%s", out.Verdict, out.Stories, out.Output)
	}
	return out.Stories[0]
}

func (a *agent) passes(in arguments) {
	a.t.Helper()
	var out outcome
	a.ask("test", in, &out)
	if out.Verdict != sim.VerdictOK || len(out.Stories) != 0 || !strings.Contains(out.Output, "300 episodes with seed 1") {
		a.t.Fatalf("test says %s: %+v\n%s", out.Verdict, out.Stories, out.Output)
	}
}

// What cannot be built is neither a pass nor a violation, and says why. Tests end when they are cancelled.
func TestTestsThatTellNothing(t *testing.T) {
	root := repository(t)
	a := ownModule(t)
	newLock(t, root, ".")
	template := testkit.File(t, "lock_test.go")
	rewrite(t, "lock_test.go", template, strings.NewReplacer("New(c, path)", "News(c, path)"))
	var out outcome
	a.ask("test", nil, &out)
	if out.Verdict != sim.VerdictUnknown || !strings.Contains(out.Output, "undefined: News") {
		t.Errorf("test says %+v", out)
	}
	rewrite(t, "lock_test.go", endless, nil)
	for len(a.ended) > 0 {
		<-a.ended
	}
	a.cancel("test", nil, "it lives", func() { rewrite(t, "quiet", "", nil) })
	alive, err := os.Open("alive")
	if err != nil {
		t.Fatal(err)
	}
	defer alive.Close()
	testkit.Until(t, "the process of the test has ended", func() bool { return posix.TryLock(alive) == nil })
}

// endless is a test that holds a lock on a file until its process ends. Whoever prints would end when nobody listens.
const endless = `package mylock

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/zktorture/zktorture/live/ensemble/posix"
)

func TestEndless(t *testing.T) {
	alive, err := os.Create("alive")
	if err == nil {
		err = posix.TryLock(alive)
	}
	if err != nil {
		t.Fatal(err)
	}
	for ; ; time.Sleep(time.Millisecond) {
		if _, err := os.Stat("quiet"); err != nil {
			fmt.Println("it lives")
		}
	}
}
`

// A folder of testdata/zktorture names its test, and a subtest.
func TestPattern(t *testing.T) {
	if got, want := pattern("TestA_b_c"), `^TestA_b_c$|^TestA$/^b.c$|^TestA_b$/^c$`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
