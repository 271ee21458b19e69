package cli

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	"github.com/zktorture/zktorture/cmd/internal/cli/output"
	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
)

// disputedPart is the certificate that porcupine does not confirm.
var disputedPart = linearizability.History{{Client: 1, Op: "poll", Result: linearizability.Str("a"), Call: 3,
	Return: 4, Object: "/q"}}

// When the checkers of a run disagree, the input of each is written to a file.
func TestDisputedRun(t *testing.T) {
	whole := append(linearizability.History{{Client: 1, Op: "offer", Arg: linearizability.Str("a"), Call: 1, Return: 2,
		Object: "/q"}}, disputedPart...)
	var messages bytes.Buffer
	c := &console.Context{Context: t.Context(), Streams: console.Streams{Stdout: &messages, Stderr: &messages, Self: "torture"}}
	out, err := output.NewFolder(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	j := world.Judgement{Disputed: map[string]any{"monitor": whole, "porcupine": disputedPart}}
	result := sim.Result{Workload: "queue", Recipe: "published/X", Disputed: j.RawDisputed()}
	if err := out.Disputed(c, result); err != nil {
		t.Fatal(err)
	}
	for checker, want := range map[string]linearizability.History{"monitor": whole, "porcupine": disputedPart} {
		files, _ := filepath.Glob(filepath.Join(out.Dir, "queue-published-X-disagreement-"+checker+"-*.jsonl"))
		if len(files) != 1 || !strings.Contains(messages.String(), files[0]) {
			t.Fatalf("files %v of what %s was given; it was said: %s", files, checker, &messages)
		}
		got, err := readHistory(files[0])
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(linearizability.Value{})); err != nil || diff != "" {
			t.Errorf("%s: %v %s", files[0], err, diff)
		}
	}
}

// In a judged history the monitor's input is the object's part.
func TestDisputedCheck(t *testing.T) {
	t.Chdir(t.TempDir())
	other := linearizability.Operation{Client: 2, Op: "poll", Call: 1, Return: 2, Object: "/other"}
	j := judged{history: append(linearizability.History{other}, disputedPart...), verdicts: []linearizability.Verdict{
		{Outcome: linearizability.Ok, Object: "/other"},
		{Outcome: linearizability.Undetermined, Checker: "disagreement", Object: "/q", Operations: disputedPart},
	}}
	var messages bytes.Buffer
	c := &console.Context{Context: t.Context(), Streams: console.Streams{Stdout: &messages, Stderr: &messages, Self: "torture"}}
	if err := (&CheckCmd{Model: "queue"}).disputed(c, j); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(output.CounterexamplesDir, "queue-*-disagreement-*.jsonl"))
	if len(files) != 2 {
		t.Fatalf("files %v; it was said: %s", files, &messages)
	}
	for _, file := range files {
		if got, err := readHistory(file); err != nil || len(got) != 1 || got[0].Object != "/q" {
			t.Errorf("%s: %v, %v", file, got, err)
		}
	}
}
