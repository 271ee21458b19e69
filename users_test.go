package zktorture_test

import (
	"bytes"
	"compress/flate"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/internal/testkit"
)

// What users of the root module carry.
const (
	mostBytes    = 2_500_000 // of the module's files
	mostLoaded   = 2_500_000 // of what go get downloads: the same, compressed
	mostRequired = 10        // modules that go.mod names, and that are not indirect
	mostLines    = 48_000    // of ours that the test of a lock compiles
)

// What go get downloads is the files of the repository without those of nested modules.
func TestModuleIsSmall(t *testing.T) {
	nested, all, loaded := nestedModules(t), 0, &counter{}
	for name := range strings.SplitSeq(tracked("*"), "\n") {
		if slices.ContainsFunc(nested, func(other string) bool { return strings.HasPrefix(module+name, other+"/") }) {
			continue
		}
		content := testkit.File(t, name)
		all += len(content)
		// The Go command's zip files have each file compressed by itself.
		compressed, _ := flate.NewWriter(loaded, flate.DefaultCompression)
		if _, err := io.WriteString(compressed, content); err != nil {
			t.Fatal(err)
		}
		compressed.Close()
	}
	few(t, (all+99_999)/100_000, mostBytes/100_000, "hundreds of KB of the module's files")
	if loaded.bytes > mostLoaded {
		t.Errorf("the module's files, compressed, have %d bytes; at most %d are allowed", loaded.bytes, mostLoaded)
	}
}

// counter counts the bytes that are written to it.
type counter struct{ bytes int }

func (c *counter) Write(p []byte) (int, error) {
	c.bytes += len(p)
	return len(p), nil
}

// Users of this module get what its go.mod requires. Developers' tools are in internal/tools/go.mod.
func TestFewModulesAreRequired(t *testing.T) {
	mod := testkit.File(t, "go.mod")
	direct := regexp.MustCompile(`(?m)^(?:\t|require )\S+ v\S+$`).FindAllString(mod, -1)
	if few(t, len(direct), mostRequired, "modules that go.mod requires directly"); len(direct) == 0 {
		t.Error("go.mod requires no modules")
	}
	if regexp.MustCompile(`(?m)^tool\b`).MatchString(mod) {
		t.Error("go.mod has tools: they belong in internal/tools/go.mod")
	}
}

// A user's test of a lock is made of sim.Check and workload.Lock, and of nothing that serves commands, pages, known bugs
// or searches of all executions.
func TestUsersCompileLittle(t *testing.T) {
	const format = `{{if not .Standard}}{{.ImportPath}}{{$dir := .Dir}}{{range .GoFiles}}{{"\t"}}{{$dir}}/{{.}}{{end}}{{end}}`
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", format, "./sim", "./workload").Output()
	if err != nil {
		t.Fatal(err)
	}
	foreign := regexp.MustCompile(`prometheus|alecthomas/kong|chromedp|` + regexp.QuoteMeta(module) + `(zoo|internal/cli|sim/prove)\b`)
	lines := 0
	for words := range strings.SplitSeq(string(out), "\n") {
		files := strings.Split(words, "\t")
		if unwanted := foreign.FindString(files[0]); unwanted != "" {
			t.Errorf("the test of a lock has %s", files[0])
		}
		if !strings.HasPrefix(files[0], module) {
			continue
		}
		for _, name := range files[1:] {
			source, err := os.ReadFile(filepath.FromSlash(name))
			if err != nil {
				t.Fatal(err)
			}
			lines += bytes.Count(source, []byte("\n"))
		}
	}
	if few(t, (lines+999)/1000, mostLines/1000, "thousands of lines of ours that the test of a lock compiles"); lines == 0 {
		t.Error("no line was found")
	}
}
