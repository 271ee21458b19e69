package storyindex_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/zktorture/zktorture/storyindex"
)

// An index of too many files has the first ones, and says so.
func TestTooManyFiles(t *testing.T) {
	files := map[string]string{}
	for i := range 5003 {
		files[fmt.Sprintf("%02d/%04d.json", i%50, i)] = `{"workload":"lock","verdict":"ok"}`
	}
	index, _ := built(t, t.TempDir(), files, storyindex.Options{})
	if len(index.Runs) != 5000 || len(index.Problems) != 1 ||
		!strings.Contains(index.Problems[0].Text, "5000 files are the most") {
		t.Errorf("%d runs, and the problems %+v", len(index.Runs), index.Problems)
	}
}

// Unreadable files do not keep the rest from the index.
func TestFilesThatCannotBeRead(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root reads everything")
	}
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "shut"), 0); err != nil {
		t.Fatal(err)
	}
	index, _ := built(t, dir, map[string]string{"z.json": `{"workload":"lock","verdict":"ok"}`}, storyindex.Options{})
	if len(index.Runs) != 1 || len(index.Problems) != 1 {
		t.Errorf("%d runs, and the problems %+v", len(index.Runs), index.Problems)
	}
}

// fragments are parts of result files.
var fragments = []string{
	`{`, `}`, `[`, `]`, `,`, `:`, `"`, "\n",
	`"workload"`, `"verdict"`, `"t_s"`, `"animals"`, `"op"`, `"call"`, `"return"`,
	`"format"`, `"zktorture counterexample 1"`,
	`"faults"`, `"violations"`, `"episodes"`, `"operations"`, `"outcome":"ok"`, `"client":1`,
	`null`, `0`, `-1`, `1e308`, `9223372036854775807`, `-9223372036854775808`, `"x"`, `"\u0000</script>"`, "\xff",
	`{"t_s":1}`, `{"workload":"lock","verdict":"ok"}`,
	`{"client":1,"op":"poll","outcome":"ok","call":-9223372036854775808,"return":9223372036854775807}`,
	`{"animals":[{"id":"W1","found":true,"episodes":-7}]}`,
}

// A folder with any content has an index.
func TestAnyFiles(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		files := map[string]string{}
		for _, name := range []string{"result.json", "history.jsonl", "course.jsonl", "notes.md"} {
			files[name] = strings.Join(rapid.SliceOfN(rapid.SampledFrom(fragments), 0, 12).Draw(t, name), "")
		}
		index, _ := built(t, dir, files, judging())
		if n := len(index.Documents); n != 1 {
			t.Fatalf("%d texts", n)
		}
	})
}
