package command

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/linearizability/histories"
)

// A check that has no time left is unknown, and says why.
func TestCheckKeepsToItsTime(t *testing.T) {
	file := filepath.Join(t.TempDir(), "hard.jsonl")
	var hard bytes.Buffer
	if err := errors.Join(histories.Write(&hard, subsetSum(200)),
		os.WriteFile(file, hard.Bytes(), 0o644)); err != nil {
		t.Fatal(err)
	}
	status, out, messages := command(t, "check", file, "--model", "counter", "--timeout=300ms")
	if status != console.ExitUnknown || messages != "" || !strings.Contains(out, "could not be ordered within 300ms") {
		t.Errorf("exit status %d, %s%s; want unknown, as time was over", status, out, messages)
	}
	if status, _, messages := command(t, "check", file, "--model", "counter", "--timeout=0s"); status != console.ExitUnknown ||
		!strings.Contains(messages, "--timeout") {
		t.Errorf("no time: exit status %d, %s", status, messages)
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
