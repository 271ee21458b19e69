package checkout

import (
	"os"
	"path/filepath"
	"testing"
)

// files makes files with these texts, and the folders that they are in.
func files(t *testing.T, root string, texts map[string]string) {
	t.Helper()
	for name, text := range texts {
		name = filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// The root is what GitHub says, if it can be meant, else the nearest .git, else the outermost module, else the folder.
func TestFind(t *testing.T) {
	root := t.TempDir()
	files(t, root, map[string]string{
		"git/.git": "gitdir: elsewhere", "git/outer/go.mod": "// A comment.\nmodule \"example.com/outer\" // another\n",
		"git/outer/inner/go.mod": "go 1.26\nmodule example.com/inner\n", "git/outer/inner/locks/lock.go": "",
		"around/go.mod": "module around\n", "around/git/.git": "", "around/git/lock.go": "",
		"bare/go.mod": "", "bare/locks/inner/go.mod": "module x\n", "none/lock.go": "",
	})
	inner, outer := Module{"example.com/inner", "git/outer/inner"}, Module{"example.com/outer", "git/outer"}
	for _, c := range []struct {
		dir, workspace, root string
		modules              []Module
	}{
		{"git/outer/inner/locks", "", "git", []Module{inner, outer}},
		{"git/outer/inner/locks", "git/outer/", "git/outer", []Module{inner, outer}},
		{"git/outer/inner/locks", ".", ".", []Module{inner, outer}},
		{"git/outer/inner/locks", "bare", "git", []Module{inner, outer}},
		{"around/git", "", "around/git", []Module{{"around", "around"}}},
		{"bare/locks/inner", "", "bare", []Module{{"x", "bare/locks/inner"}, {"", "bare"}}},
		{"none", "", "none", nil},
		{"git", "git", "git", nil},
	} {
		workspace := c.workspace
		if workspace != "" {
			workspace = root + "/" + workspace
		}
		got := find(filepath.Join(root, c.dir), workspace)
		if got.Root != filepath.Join(root, c.root) || len(got.Modules) != len(c.modules) {
			t.Errorf("%+v: %+v", c, got)
			continue
		}
		for i, m := range c.modules {
			if m.Dir = filepath.Join(root, m.Dir); got.Modules[i] != m {
				t.Errorf("%+v: module %d is %+v", c, i, got.Modules[i])
			}
		}
	}
}

// Files outside of the repository, folders and what is not there have no name.
func TestName(t *testing.T) {
	root := t.TempDir()
	files(t, root, map[string]string{"git/.git": "", "git/a b/lock.go": "", "git/..c/lock.go": "", "lock.go": ""})
	t.Chdir(filepath.Join(root, "git", "a b"))
	for _, c := range []struct{ file, want string }{
		{"lock.go", "a b/lock.go"}, {"../..c/lock.go", "..c/lock.go"}, {filepath.Join(root, "git", "a b", "lock.go"), "a b/lock.go"},
		{"../../lock.go", ""}, {"..", ""}, {".", ""}, {"gone.go", ""}, {"", ""},
	} {
		if got := Here().Name(c.file); got != c.want {
			t.Errorf("%q is %q, want %q", c.file, got, c.want)
		}
	}
	if got := (Checkout{}).Name("lock.go"); got != "" {
		t.Errorf("a file of no checkout is %q", got)
	}
}
