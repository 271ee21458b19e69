package scaffold

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zktorture/zktorture/cmd/internal/cli/console"
)

// The lock that torture new writes is that of the tutorial's first step.
func TestFirstLockIsTheTutorials(t *testing.T) {
	dir := t.TempDir()
	patch, err := filepath.Abs("../../../examples/tutorial/steps/1.patch")
	if err != nil {
		t.Fatal(err)
	}
	git := exec.CommandContext(t.Context(), "git", "apply", patch)
	git.Dir = dir
	if out, err := git.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range []string{"lock.go", "lock_test.go"} {
		patched, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(patched), first("lock", "mylock")[name]); diff != "" {
			t.Errorf("the first %s (-patched, +returned):\n%s", name, diff)
		}
	}
}

// All that is written can be compiled, and each test finds a bug, as is said.
func TestWhatIsWrittenHasABug(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles and runs five tests")
	}
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	t.Setenv("GOWORK", "off")
	t.Setenv("GOFLAGS", "-mod=mod")
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		if name == "go.mod" {
			text = []byte(strings.Replace(string(text), "module github.com/zktorture/zktorture\n", "module example.com/mine\n", 1) +
				"\nrequire github.com/zktorture/zktorture v0.0.0\nreplace github.com/zktorture/zktorture => " + strconv.Quote(root) + "\n")
		}
		if err := os.WriteFile(name, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write := func(n NewCmd) {
		if err := n.Run(&console.Context{Context: t.Context(), Streams: console.Streams{Stdout: io.Discard}}); err != nil {
			t.Errorf("%+v: %v", n, err)
		}
	}
	for _, kind := range kinds() {
		write(NewCmd{Kind: kind, Dir: kind})
	}
	if out, err := exec.CommandContext(t.Context(), "go", "vet", "./...").CombinedOutput(); err != nil {
		t.Fatalf("go vet: %v\n%s", err, out)
	}
	out, _ := exec.CommandContext(t.Context(), "go", "test", "-vet=off", "./...", "-zktorture.seed=1").CombinedOutput()
	for _, kind := range kinds() {
		if !strings.Contains(string(out), "example.com/mine/"+kind+" -run") {
			t.Errorf("the test of %s finds nothing:\n%s", kind, out)
		}
	}
}
