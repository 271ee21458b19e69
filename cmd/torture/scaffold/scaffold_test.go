package scaffold

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
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
		if diff := cmp.Diff(string(patched), firstLock(name, "mylock")); diff != "" {
			t.Errorf("the first %s (-patched, +returned):\n%s", name, diff)
		}
	}
}
