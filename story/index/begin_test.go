package index_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zktorture/zktorture/story/index"
)

const begunOnServers = `{"format":"zktorture run 1","workload":"queue","recipe":"ours","backend":"ensemble","seed":7}`

// late is a round whose poll returns before the offer of what it returns.
const late = `{"client":2,"op":"poll","arg":null,"result":"a","outcome":"ok","call":1,"return":2,"object":"/z/late"}
{"client":1,"op":"offer","arg":"a","result":null,"outcome":"ok","call":1,"return":3,"object":"/z/late"}

`

// A run has one line in the index, whichever of its files exist.
func TestRunIsListedOnce(t *testing.T) {
	all := map[string]string{
		"run.json":    begunOnServers,
		"result.json": `{"workload":"queue","recipe":"ours","backend":"ensemble","verdict":"ok","violations":[]}`,
	}
	for _, have := range []string{"run.json", "run.json result.json"} {
		files := map[string]string{}
		for name := range strings.FieldsSeq(have) {
			files[name] = all[name]
		}
		made := built(t, t.TempDir(), files, judging())
		want := "unknown"
		if strings.Contains(have, "result") {
			want = "ok"
		}
		if len(made.Runs) != 1 || made.Runs[0].Verdict != want || made.Runs[0].Workload != "queue" ||
			len(made.Problems) > 0 {
			t.Errorf("%s: the runs are %+v, the problems %v", have, made.Runs, made.Problems)
		}
	}
}

// A run's description is read as it was written. An invalid one is refused.
func TestBegin(t *testing.T) {
	dir := t.TempDir()
	if _, err := index.ReadBegin(dir); err == nil || !strings.Contains(err.Error(), "there is no run.json in it") {
		t.Errorf("of nothing: %v", err)
	}
	want := index.Begin{Format: index.BeginFormat, Workload: "lock", Recipe: "ours", Backend: "live",
		Strategy: "random", Seed: 1 << 60, Faults: "loss,expiry", Clients: 3, Ops: 4, Nodes: 3, Duration: 1.5}
	if err := index.WriteBegin(dir, want); err != nil {
		t.Fatal(err)
	}
	if got, err := index.ReadBegin(dir); err != nil || got != want {
		t.Errorf("%v, %v", cmp.Diff(want, got), err)
	}
	if err := index.WriteBegin(dir, want); err == nil {
		t.Error("it was overwritten")
	}
	for text, says := range map[string]string{
		"":                             "cut off",
		`{"format":"zktort`:            "cut off",
		`{"format":"zktorture run 2"}`: `"zktorture run 2"`,
	} {
		if err := os.WriteFile(filepath.Join(dir, index.BeginName), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := index.ReadBegin(dir); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("of %q: %v", text, err)
		}
	}
}
