package index_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/zktorture/zktorture/story/index"
)

// built makes the index of a folder with these files.
func built(t rapid.TB, dir string, files map[string]string, o index.Options) *index.Index {
	t.Helper()
	made, err := build(t, dir, files, o)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func build(t rapid.TB, dir string, files map[string]string, o index.Options) (*index.Index, error) {
	t.Helper()
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return index.Build(context.Background(), dir, o)
}

// An index of too many files has the first ones, and says so.
func TestTooManyFiles(t *testing.T) {
	files := map[string]string{}
	for i := range 5003 {
		files[fmt.Sprintf("%02d/%04d.json", i%50, i)] = `{"workload":"lock","verdict":"ok"}`
	}
	made := built(t, t.TempDir(), files, index.Options{})
	if len(made.Runs) != 5000 || len(made.Problems) != 1 ||
		!strings.Contains(made.Problems[0].Text, "5000 files are the most") {
		t.Errorf("%d runs, and the problems %+v", len(made.Runs), made.Problems)
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
	made := built(t, dir, map[string]string{"z.json": `{"workload":"lock","verdict":"ok"}`}, index.Options{})
	if len(made.Runs) != 1 || len(made.Problems) != 1 {
		t.Errorf("%d runs, and the problems %+v", len(made.Runs), made.Problems)
	}
}

// fragments are parts of result files.
var fragments = []string{
	`{`, `}`, `[`, `]`, `,`, `:`, `"`, "\n",
	`"workload"`, `"verdict"`, `"op"`, `"call"`, `"return"`,
	`"format"`, `"zktorture counterexample 1"`,
	`"faults"`, `"violations"`, `"episodes"`, `"operations"`, `"outcome":"ok"`, `"client":1`,
	`null`, `0`, `-1`, `1e308`, `9223372036854775807`, `-9223372036854775808`, `"x"`, `"\u0000</script>"`, "\xff",
	`{"workload":"lock","verdict":"ok"}`,
	`{"client":1,"op":"poll","outcome":"ok","call":-9223372036854775808,"return":9223372036854775807}`,
}

// A folder with any content has an index, or none of ours.
func TestAnyFiles(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		files := map[string]string{}
		for _, name := range []string{"result.json", "history.jsonl", "run.json"} {
			files[name] = strings.Join(rapid.SliceOfN(rapid.SampledFrom(fragments), 0, 12).Draw(t, name), "")
		}
		if _, err := build(t, dir, files, judging()); err != nil && !strings.Contains(err.Error(), "there are no results") {
			t.Fatal(err)
		}
	})
}
