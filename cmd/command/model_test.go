package command

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	"github.com/zktorture/zktorture/cmd/internal/cli/output"
	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/live/ensemble/ensembletest"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/story/index"
	"github.com/zktorture/zktorture/workload"
)

// judgedByProperties are the kinds whose histories have neither a model nor a judge of their own.
var judgedByProperties = []string{"cache", "ids", "shards"}

// The model accepts the histories of correct recipes on real servers, as the run did, and is no laxer than the object
// where that has a size.
func TestModelsFitHistoriesOfRealServers(t *testing.T) {
	servers := ensembletest.Start(t, 1).ConnectString()
	t.Chdir(t.TempDir())
	for _, e := range workload.Entries() {
		m, err := output.ModelOf(e.Kind, e.Recipe)
		if has := err == nil; has == slices.Contains(judgedByProperties, e.Kind) {
			t.Errorf("the model of %s: %v", e.Kind, err)
		}
		if err != nil || strings.HasPrefix(e.Recipe, "published/") {
			continue
		}
		dir := e.Kind + "-" + output.Flat(e.Recipe)
		object(t, console.ExitOK, "live", e.Kind, "--recipe", e.Recipe, "--servers", servers,
			"--episodes", "8", "--seed", "1", "--out", dir)
		if status, out, _ := command(t, append([]string{"check", dir + "/" + index.HistoryName},
			strings.Fields(m.Flags)...)...); status != console.ExitOK {
			t.Errorf("torture check %s: %s", m.Flags, out)
		}
		if status, out, messages := command(t, "check", dir); status != console.ExitOK || messages != "" {
			t.Errorf("torture check of the folder: %s%s", out, messages)
		}
	}
}

// The story of a round of a kind without a model has the operations that its judge names.
func TestIndexTellsByJudge(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"result.json": `{"workload":"lockingqueue","recipe":"ours","backend":"ensemble","verdict":"violation",` +
			`"violations":[{"property":"exclusion","message":"two have a","file":"x/round.jsonl"}]}`,
		"round.jsonl": `{"client":1,"op":"offer","arg":"a","result":null,"outcome":"ok","call":1,"return":2}
{"client":2,"op":"claim","arg":null,"result":"a","outcome":"ok","call":3,"return":4}
{"client":3,"op":"claim","arg":null,"result":"a","outcome":"ok","call":5,"return":6}
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	made, err := index.Build(t.Context(), dir, index.Options{Model: output.ModelOf})
	if err != nil || len(made.Histories) != 1 || len(made.Problems) > 0 {
		t.Fatalf("%v: %+v", err, made)
	}
	h := made.Histories[0]
	if h.Verdict != "violation" || h.Story == "" {
		t.Fatalf("the index says %+v", h)
	}
	if page, err := os.ReadFile(filepath.Join(dir, h.Story)); err != nil || !strings.Contains(string(page), "--model lockingqueue") {
		t.Errorf("the page does not tell by the judge: %v", err)
	}
}

// The sizes are those of the recipes: that many are in order, one more is not.
func TestSizesOfModels(t *testing.T) {
	for recipe, size := range map[string]int{"ours": 2, "ours/3": 3} {
		m, err := output.ModelOf("semaphore", recipe)
		if err != nil {
			t.Fatal(err)
		}
		for n, want := range map[int]linearizability.Status{size: linearizability.Ok,
			size + 1: linearizability.Violation} {
			var h linearizability.History
			for i := range n {
				h = append(h, linearizability.Operation{Client: i, Op: "acquire", Outcome: linearizability.OK,
					Call: int64(10 * i), Return: int64(10*i + 5)})
			}
			if v := linearizability.Check(m.Model, h, 0); v[0].Outcome != want {
				t.Errorf("%s: %d permits: %v", recipe, n, v[0])
			}
		}
		if !strings.Contains(help(t, "semaphore", recipe), fmt.Sprintf("of %d permits", size)) ||
			!strings.Contains(help(t, "doublebarrier", recipe), fmt.Sprintf("for %d parties", size)) {
			t.Errorf("%s is not of the size %d", recipe, size)
		}
	}
	for _, kind := range []string{"semaphore", "doublebarrier"} {
		if _, err := output.ModelOf(kind, "mine"); err == nil {
			t.Errorf("there is a model of a %s whose size nobody knows", kind)
		}
	}
}

// help is the text of torture list for a recipe.
func help(t *testing.T, kind, recipe string) string {
	t.Helper()
	for _, e := range workload.Entries() {
		if e.Kind == kind && e.Recipe == recipe {
			return e.Help
		}
	}
	t.Fatalf("there is no %s %s", kind, recipe)
	return ""
}

// The commands shown with a violation on real servers have all flags of its model.
func TestFollowUps(t *testing.T) {
	for of, want := range map[[2]string]string{
		{"barrier", "ours"}:         "check f.jsonl --model barrier",
		{"doublebarrier", "ours/3"}: "check f.jsonl --model doublebarrier --parties 3",
		{"semaphore", "ours"}:       "check f.jsonl --model semaphore --permits 2",
		{"queue", "ours/receipts"}:  "check f.jsonl --model queue",
		{"membership", "ours"}:      "check f.jsonl --model membership",
		{"cache", "ours"}:           "history: f.jsonl",
	} {
		if got := output.FollowUps("live", sim.Result{Workload: of[0], Recipe: of[1]}, console.Streams{Self: "torture"},
			"f.jsonl")[0]; !strings.HasSuffix(got, want) {
			t.Errorf("%v: %s", of, got)
		}
	}
}
