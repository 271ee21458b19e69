package sim

import (
	"os"
	"path/filepath"
	"testing"
)

// A page is named from the folder of go.mod, and as it is if it is named so already.
func TestFromModule(t *testing.T) {
	module := t.TempDir()
	if err := os.Mkdir(filepath.Join(module, "locks"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(module, "go.mod"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	page := filepath.Join("testdata", "story.html")
	t.Chdir(filepath.Join(module, "locks"))
	if got := fromModule(page); got != filepath.Join("locks", page)+" (from the folder of go.mod)" {
		t.Errorf("a file of a package is %q", got)
	}
	t.Chdir(module)
	if got := fromModule(page); got != page {
		t.Errorf("a file of the module's first package is %q", got)
	}
}
