package command

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	"github.com/zktorture/zktorture/cmd/internal/cli/output"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/story/index"
)

func TestWrap(t *testing.T) {
	for in, want := range map[string]string{
		"":                         "",
		"short":                    "short",
		"one two three":            "one two\nthree",
		"one two three four":       "one two\nthree four",
		"averyverylongword a b":    "averyverylongword\na b",
		"a\n\tgo.go:1 b c d e f g": "a\n\tgo.go:1 b c d e f g",
		"aaa bbb ccc\nd":           "aaa bbb\nccc\nd",
	} {
		if got := console.Wrap(in, 10); got != want {
			t.Errorf("wrap(%q) = %q, want %q", in, got, want)
		}
	}
}

// A verdict that cannot be printed is not silent, also if its status is that of an error.
func TestUnknownIsNotSilent(t *testing.T) {
	out := &output.Folder{Dir: t.TempDir(), Named: true}
	if err := out.Begin(index.Begin{Workload: "lock", Recipe: "ours", Backend: "live"}); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	status := run(t.Context(), []string{"check", out.Dir}, console.Streams{Stdout: failing{}, Stderr: &said})
	if want := "torture: standard output: the disk is full\n"; status != console.ExitUnknown || said.String() != want {
		t.Errorf("exit status %d, %q, want %q", status, said.String(), want)
	}
}

// The evidence of a violation is written, however long the command of the recipe is, and that of another beside it.
func TestEvidenceOfALongCommand(t *testing.T) {
	o := &output.Folder{Dir: t.TempDir()}
	var saved output.Evidence
	for _, op := range []string{"acquire", "try"} {
		saved.Save(o, sim.Result{Workload: "lock", Recipe: "exec:" + strings.Repeat("/usr/share/jävä", 100)},
			sim.Found{Violation: sim.Violation{Property: "exclusion"}}, "jsonl",
			func(w io.Writer) error { _, err := io.WriteString(w, op); return err })
	}
	if saved.Err != nil || saved.Files[0] == saved.Files[1] {
		t.Fatalf("%v, %q", saved.Err, saved.Files)
	}
	for i, op := range []string{"acquire", "try"} {
		if got, err := os.ReadFile(saved.Files[i]); err != nil || string(got) != op {
			t.Errorf("%s: %q, %v", saved.Files[i], got, err)
		}
	}
}
