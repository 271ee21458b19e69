package zktorture_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/internal/testkit"
)

// What users of the library carry.
const (
	mostBytes    = 6_000_000 // of the module's files, which is what go get downloads
	mostRequired = 10        // modules that go.mod names, and that are not indirect
	mostLines    = 49_000    // of ours that the test of a lock compiles
)

// The module's files are those of the repository without those of nested modules.
func TestModuleIsSmall(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "git", "ls-files").Output()
	if err != nil {
		t.Skipf("needs a checkout: git ls-files: %v", err)
	}
	all, nested := 0, regexp.MustCompile(`(?m)^(.*/)go\.mod$`).FindAllStringSubmatch(string(out), -1)
files:
	for name := range strings.FieldsSeq(string(out)) {
		for _, m := range nested {
			if strings.HasPrefix(name, m[1]) {
				continue files
			}
		}
		if info, err := os.Stat(name); err == nil {
			all += int(info.Size())
		}
	}
	if all == 0 || all > mostBytes {
		t.Errorf("the module's files have %d bytes; at most %d are allowed", all, mostBytes)
	}
}

// Users of this module get what its go.mod requires.
func TestFewModulesAreRequired(t *testing.T) {
	mod := testkit.File(t, "go.mod")
	direct := regexp.MustCompile(`(?m)^(?:\t|require )\S+ v\S+$`).FindAllString(mod, -1)
	if n := len(direct); n == 0 || n > mostRequired {
		t.Errorf("go.mod requires %d modules directly; at most %d are allowed", n, mostRequired)
	}
}

// A user's test of a lock is made of sim.Check and workload.Lock, and of nothing that serves commands, pages or known bugs.
func TestUsersCompileLittle(t *testing.T) {
	const format = `{{if not .Standard}}{{.ImportPath}}{{$dir := .Dir}}{{range .GoFiles}}{{"\t"}}{{$dir}}/{{.}}{{end}}{{end}}`
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", format, "./sim", "./workload").Output()
	if err != nil {
		t.Fatal(err)
	}
	unwanted := regexp.MustCompile(`alecthomas/kong|` + regexp.QuoteMeta(module) + `(cmd|zoo|internal/cli)\b`)
	lines := 0
	for words := range strings.SplitSeq(string(out), "\n") {
		files := strings.Split(words, "\t")
		if unwanted.MatchString(files[0]) {
			t.Errorf("the test of a lock has %s", files[0])
		}
		if !strings.HasPrefix(files[0], module) {
			continue
		}
		for _, name := range files[1:] {
			lines += bytes.Count([]byte(testkit.File(t, filepath.FromSlash(name))), []byte("\n"))
		}
	}
	if lines == 0 || lines > mostLines {
		t.Errorf("the test of a lock compiles %d lines of ours; at most %d are allowed", lines, mostLines)
	}
}
