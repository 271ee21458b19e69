package testkit

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// complaints is a test that notes what is wrong.
type complaints struct {
	testing.TB
	list []string
}

func (c *complaints) Helper() {}

func (c *complaints) Errorf(format string, args ...any) {
	c.list = append(c.list, fmt.Sprintf(format, args...))
}

func TestGenerated(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"same.md": "same", "old.md": "old", "gone.md": "gone", "other.txt": "kept"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	files := map[string]string{"same.md": "same", "old.md": "new", "fresh.md": "fresh"}
	c := &complaints{TB: t}
	Generated(c, dir, files, false, "*.md")
	slices.Sort(c.list)
	want := []string{
		filepath.Join(dir, "fresh.md") + " is not up to date: make docs writes it",
		filepath.Join(dir, "old.md") + " is not up to date: make docs writes it",
		"gone.md is of nothing that there is now: make docs removes it",
	}
	slices.Sort(want)
	if !slices.Equal(c.list, want) {
		t.Errorf("%q", c.list)
	}
	Generated(t, dir, files, true, "*.md")
	Generated(t, dir, files, false, "*.md")
	if _, err := os.Stat(filepath.Join(dir, "other.txt")); err != nil {
		t.Error(err)
	}
}
