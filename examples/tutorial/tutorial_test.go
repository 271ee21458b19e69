// Package tutorial has the code of docs/tutorial: a lock from its first version, which is wrong, to one that survives all
// faults. Package mylock is the last version. The patches in steps make it, one after another, of nothing.
package tutorial

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zktorture/zktorture/internal/testkit"
)

// apply applies the patches of steps to a folder.
func apply(t *testing.T, dir string, from, to int) {
	t.Helper()
	for i := from; i <= to; i++ {
		patch, err := filepath.Abs(fmt.Sprintf("steps/%d.patch", i))
		if err != nil {
			t.Fatal(err)
		}
		git := exec.Command("git", "apply", patch)
		git.Dir = dir
		if out, err := git.CombinedOutput(); err != nil {
			t.Fatalf("step %d: %v\n%s", i, err, out)
		}
	}
}

// Step by step the lock becomes package mylock. That each step is what docs/tutorial says is tested
// with the pages.
func TestStepsMakeTheLock(t *testing.T) {
	dir := t.TempDir()
	patches, _ := filepath.Glob("steps/*.patch")
	apply(t, dir, 1, len(patches))
	last, _ := filepath.Glob("mylock/*.go")
	if len(last) < 3 {
		t.Errorf("package mylock has only %q", last)
	}
	for _, name := range last {
		if diff := cmp.Diff(testkit.File(t, name), testkit.File(t, filepath.Join(dir, filepath.Base(name)))); diff != "" {
			t.Errorf("%s (-is, +patched):\n%s", name, diff)
		}
	}
}
