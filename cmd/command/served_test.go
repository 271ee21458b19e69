package command

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	"github.com/zktorture/zktorture/cmd/internal/cli/output"
)

// Served servers let a correct recipe pass under all faults, and show what is wrong with a broken one.
func TestRunOnServed(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, test := range []struct {
		args   string
		status int
	}{
		{"lock --serve 3 --episodes 40 --out out", console.ExitOK},
		{"lock --serve 1 --episodes 10 --faults kill,stop,loss", console.ExitOK},
		{"queue --serve 3 --recipe published/DistributedQueue --episodes 60 --faults loss", console.ExitViolation},
	} {
		t.Run(test.args, func(t *testing.T) {
			status, text, messages := command(t, strings.Fields("live --seed 1 --json "+test.args)...)
			var s output.Summary
			if err := json.Unmarshal([]byte(text), &s); err != nil || status != test.status || s.Operations == 0 {
				t.Fatalf("exit status %d, %v\n%s%s", status, err, text, messages)
			}
		})
	}
}

func TestServedRefuses(t *testing.T) {
	for _, test := range []struct{ args, says string }{
		{"--serve 1 --faults lag", "lag: a single server has no others"},
	} {
		t.Run(test.args, func(t *testing.T) {
			status, _, messages := command(t, strings.Fields("live lock "+test.args)...)
			if status != console.ExitUnknown || !strings.Contains(messages, test.says) {
				t.Errorf("exit status %d, %q, want %q", status, messages, test.says)
			}
		})
	}
}
