//go:build unix

package proc

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sync/errgroup"
)

// A folder of a dead process goes with the next, and nothing else does.
func TestFolderOfTheDead(t *testing.T) {
	parent := t.TempDir()
	in := func(name string) string { return filepath.Join(parent, name) }
	dead, err := NewFolder(parent, "some-")
	if err != nil {
		t.Fatal(err)
	}
	living, err := NewFolder(parent, "some-")
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(os.MkdirAll(filepath.Join(dead.Path, "data", "deep"), 0o755), os.Mkdir(in("other"), 0o755),
		os.WriteFile(in("some-file"), nil, 0o644), os.Symlink(in("other"), in("some-link")))
	if err != nil {
		t.Fatal(err)
	}
	dead.lock.Close()
	next, err := NewFolder(parent, "some-")
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{living.Path, next.Path, in("other"), in("some-file"), in("some-link")} {
		if _, err := os.Lstat(at); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(dead.Path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the dead one's is left: %v", err)
	}
	if err := errors.Join(living.Remove(), next.Remove()); err != nil {
		t.Error(err)
	}
}

// Nobody's new folder is taken for a dead one's.
func TestManyFolders(t *testing.T) {
	parent := t.TempDir()
	var all errgroup.Group
	for range 50 {
		all.Go(func() error {
			f, err := NewFolder(parent, "some-")
			if err == nil {
				err = errors.Join(os.WriteFile(filepath.Join(f.Path, "file"), nil, 0o644), f.Remove())
			}
			return err
		})
	}
	if err := all.Wait(); err != nil {
		t.Error(err)
	}
	left, err := os.ReadDir(parent)
	if err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}
