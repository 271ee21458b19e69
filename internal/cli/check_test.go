package cli

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zktorture/zktorture/internal/cli/console"
	"github.com/zktorture/zktorture/internal/cli/output"
	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
)

// A check that exceeds its limits is unknown, and says what was tried.
func TestCheckKeepsToItsLimits(t *testing.T) {
	file := filepath.Join(t.TempDir(), "hard.jsonl")
	var hard bytes.Buffer
	if err := errors.Join(linearizability.Write(&hard, subsetSum(200)),
		os.WriteFile(file, hard.Bytes(), 0o644)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ limit, why string }{
		{"--timeout=300ms", "could not be ordered within 300ms"},
		{"--memory=1", "with the 1 MB that are allowed"},
	} {
		status, out, messages := command(t, "check", file, "--model", "counter", "--timeout=5s", "--memory=4096",
			c.limit) // other tests use memory, too
		if status != console.ExitUnknown || messages != "" || !strings.Contains(out, c.why) {
			t.Errorf("%s: exit status %d, %s%s; want unknown, %s", c.limit, status, out, messages, c.why)
		}
		for _, tried := range []string{"undecided by the monitor: which additions",
			"undecided by the frontier"} {
			if !strings.Contains(out, tried) {
				t.Errorf("%s: %q is not in\n%s", c.limit, tried, out)
			}
		}
	}
	for _, wrong := range []string{"--timeout=0s", "--memory=0", "--memory=-5", "--memory=99999999"} {
		if status, _, messages := command(t, "check", file, "--model", "counter", wrong); status != console.ExitUnknown ||
			!strings.Contains(messages, wrong[:8]) {
			t.Errorf("%s: exit status %d, %s", wrong, status, messages)
		}
	}
}

// subsetSum is a history of a counter with n distinct additions of unknown outcome. Some subset sums to the value
// read.
func subsetSum(n int) (h linearizability.History) {
	random, sum := rand.New(rand.NewPCG(1, 2)), int64(0)
	for i := range n {
		amount := random.Int64N(1 << 50)
		if i%2 == 0 {
			sum += amount
		}
		h = append(h, linearizability.Operation{
			Client: i, Op: "add", Arg: linearizability.Int(amount), Outcome: linearizability.Unknown,
			Call: int64(i + 1), Return: linearizability.Forever,
		})
	}
	at := int64(n + 1)
	return append(h, linearizability.Operation{Client: n, Op: "get", Result: linearizability.Int(sum),
		Call: at, Return: at + 1})
}

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
	if err := (&checkCmd{Model: "queue"}).disputed(c, j); err != nil {
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
