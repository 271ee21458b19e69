package command

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/cmd/internal/cli/output"
	"github.com/zktorture/zktorture/internal/testkit"
)

// ordinary builds a program of package main in a folder as a user does, and returns what runs it. It will be told to build
// itself once more, in exact mode.
func ordinary(t *testing.T, dir string) func(env string, args ...string) (out string, exit int) {
	t.Helper()
	testkit.NeedExact(t)
	binary := filepath.Join(t.TempDir(), "torture")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, ".")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	work := t.TempDir()
	return func(env string, args ...string) (string, int) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), binary, args...)
		cmd.Dir, cmd.Env = work, append(os.Environ(), env)
		var said strings.Builder
		cmd.Stderr = &said
		out, err := cmd.Output()
		if cmd.ProcessState == nil {
			t.Fatal(err)
		}
		return string(out) + said.String(), cmd.ProcessState.ExitCode()
	}
}

// A recipe that leaves something to the Go runtime gives one hash in exact mode, in one process or in several, and the
// counterexamples are replayed by the command that is not in exact mode itself.
func TestTortureRunExact(t *testing.T) {
	torture := ordinary(t, filepath.Join("..", "..", "cmd", "torture"))
	for _, strategy := range []string{"mix", "random"} {
		var hashes []string
		for _, env := range []string{"GOMAXPROCS=1", "GOMAXPROCS=3"} {
			args := "run counter --exact --json --episodes 600 --seed 505638 --faults cancel --strategy " + strategy
			out, exit := torture(env, strings.Fields(args)...)
			var s output.Summary
			if err := json.Unmarshal([]byte(out), &s); err != nil || exit != 0 || !s.Exact || s.Episodes != 600 {
				t.Fatalf("%s: exit status %d, %v: %s", strategy, exit, err, out)
			}
			if s.Rerun.Episodes != 600 || s.Rerun.Differed != 0 {
				t.Errorf("%s, run again: %+v, want 600 equal", strategy, s.Rerun)
			}
			hashes = append(hashes, s.Hash)
		}
		if hashes[0] != hashes[1] {
			t.Errorf("%s: hash %s in one process, %s in three", strategy, hashes[0], hashes[1])
		}
	}
	out, exit := torture("GOMAXPROCS=2", strings.Fields("run lock --recipe published/WriteLock --exact --json --seed 1")...)
	var s output.Summary
	if err := json.Unmarshal([]byte(out), &s); err != nil || exit != 1 || len(s.Violations) == 0 {
		t.Fatalf("exit status %d, %v: %s", exit, err, out)
	}
	if out, exit := torture("GOMAXPROCS=2", "replay", s.Violations[0].File); exit != 1 || !strings.Contains(out, "VIOLATION") {
		t.Errorf("replay: exit status %d: %s", exit, out)
	}
}

// A command with kinds of its own, in a module of its own, is built anew with these in it.
func TestExactBuildsUsersOwnCommand(t *testing.T) {
	dir := usersModule(t, map[string]string{"main.go": `package main

import (
	"github.com/zktorture/zktorture/cmd/command"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/workload"
)

func main() {
	command.Main(&workload.Kind{Name: "lock", Recipes: []workload.Entry{{Recipe: "mine", New: func() *workload.Workload {
		return workload.Lock(func(c recipes.Conn, path string) workload.Locker { return recipes.NewLock(c, path) },
			workload.Named("mine"))
	}}}})
}
`})
	torture := ordinary(t, dir)
	out, exit := torture("GOMAXPROCS=2", strings.Fields("run lock --recipe mine --exact --episodes 50 --seed 1")...)
	if exit != 0 || !strings.Contains(out, "ok lock (mine)") || !strings.Contains(out, "exact: ") {
		t.Errorf("exit status %d: %s", exit, out)
	}
}

// Known bugs that need exact mode are skipped without it, which is no failure, and hunted with it.
func TestZooExact(t *testing.T) {
	torture := ordinary(t, filepath.Join("..", "..", "cmd", "torture"))
	if out, exit := torture("GOMAXPROCS=1", "zoo", "G2"); exit != 0 || !strings.Contains(out, "skipped") {
		t.Errorf("without --exact: exit status %d: %s", exit, out)
	}
	out, exit := torture("GOMAXPROCS=1", strings.Fields("zoo G2 G3 --exact --episodes 200")...)
	if exit != 0 || !strings.Contains(out, "2 of 2 found; every fixed version is clean") {
		t.Errorf("with --exact: exit status %d: %s", exit, out)
	}
}
