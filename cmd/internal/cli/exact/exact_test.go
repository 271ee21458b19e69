package exact

import (
	"encoding/json"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// When a new version of Go has moved a place, this says which.
func TestEditsFitTheLocalGo(t *testing.T) {
	goroot, version := local(t)
	texts, err := patched(goroot, version)
	if err != nil {
		t.Fatal(err)
	}
	for file, text := range texts {
		if _, err := parser.ParseFile(token.NewFileSet(), file, text, parser.SkipObjectResolution); err != nil {
			t.Errorf("%s, edited: %v", file, err)
		}
	}
	if len(texts) < 10 {
		t.Errorf("only %d files are edited", len(texts))
	}
}

func local(t *testing.T) (goroot, version string) {
	t.Helper()
	goroot, version, err := installed(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return goroot, version
}

func TestAddedFilesAreFormatted(t *testing.T) {
	for _, name := range added {
		text, err := files.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		formatted, err := format.Source(text)
		if err != nil {
			t.Fatal(err)
		}
		if string(formatted) != string(text) {
			t.Errorf("gofmt would change %s", name)
		}
	}
}

// Each place alone that is missing, or there twice, is refused by name.
func TestMovedPlacesAreNamed(t *testing.T) {
	goroot, version := local(t)
	all, err := edits()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		for what, times := range map[string]int{"missing": 0, "twice": 2} {
			broken := map[string]string{}
			for _, at := range e.places {
				text := source(t, goroot, at.file)
				broken[at.file] = strings.Replace(text, at.old, strings.Repeat(at.old, times), 1)
			}
			_, err := patched(copyOf(t, goroot, all, broken), version)
			if err == nil {
				t.Errorf("%s: %s, and nobody noticed", e.source, what)
				continue
			}
			for _, word := range []string{version, e.source, e.places[0].file} {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("%s: %s: the error does not name %s: %v", e.source, what, word, err)
				}
			}
		}
	}
	if len(all) < 20 {
		t.Errorf("only %d edits were tried", len(all))
	}
}

func source(t *testing.T, goroot, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(goroot, "src", file))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(text)
}

// copyOf makes a GOROOT of the files that are edited, some of them broken.
func copyOf(t *testing.T, goroot string, all []edit, broken map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for _, e := range all {
		for _, at := range e.places {
			text, is := broken[at.file]
			if !is {
				text = source(t, goroot, at.file)
			}
			if text == "" {
				continue
			}
			name := filepath.Join(dir, "src", at.file)
			if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

func TestWriteIsWhole(t *testing.T) {
	goroot, version := local(t)
	dir := t.TempDir()
	overlay, err := writeOverlay(goroot, version, dir)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(overlay)
	if err != nil {
		t.Fatal(err)
	}
	var list struct{ Replace map[string]string }
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	texts, _ := patched(goroot, version)
	for file, want := range texts {
		name := list.Replace[filepath.Join(goroot, "src", file)]
		if got, err := os.ReadFile(name); err != nil || string(got) != want {
			t.Errorf("%s is not what %s should be: %v", name, file, err)
		}
	}
	if len(list.Replace) != len(texts) {
		t.Errorf("%d files are replaced, not %d", len(list.Replace), len(texts))
	}
	damaged := filepath.Join(dir, "runtime_proc.go")
	if err := os.WriteFile(damaged, []byte("damaged"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := writeOverlay(goroot, version, dir); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(damaged); string(got) != texts["runtime/proc.go"] {
		t.Error("a damaged file was not written anew")
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.tmp")); left != nil {
		t.Errorf("%v was left", left)
	}
}
