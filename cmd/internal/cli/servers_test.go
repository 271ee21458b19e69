package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/cmd/internal/cli/output"
	"github.com/zktorture/zktorture/story/index"
)

// Servers that were away by themselves are told of, and what was asked for meanwhile is not among what was answered
// while all were well.
func TestServersWereAway(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		output.ResultName:  `{"verdict":"ok","away":1,"lost":2}`,
		output.StrikesName: `{"away":true,"at":3000000000,"well":12600000000}` + "\n",
		index.HistoryName: `{"client":0,"op":"acquire","call":1000000000,"return":1001000000,"outcome":"ok","object":"/r0"}
{"client":0,"op":"acquire","call":2999000000,"return":12000000000,"outcome":"ok","object":"/r0"}

`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r := readServersRun(dir, index.Begin{Workload: "lock", Recipe: "ours", Backend: "ensemble", Nodes: 3})
	if len(r.Missing) > 0 || !strings.Contains(r.Says(), "by themselves all servers were away 1 time, for 9.6s at most; clients lost a connection without a fault in 2 episodes") {
		t.Errorf("%q, missing %q", r.Says(), r.Missing)
	}
	if len(r.Latencies) != 1 || r.Latencies[0].Well.Max != 1e6 || r.Latencies[0].Hurt.Count != 1 {
		t.Errorf("%+v", r.Latencies)
	}
	if got, want := r.Title(), "lock: of zktorture, on 3 servers"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
