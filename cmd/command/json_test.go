package command

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	"github.com/zktorture/zktorture/sim"
)

// The fields of the object that --json prints are an interface.
var (
	summaryFields = []string{"backend", "elapsed_s", "episodes", "episodes_per_s", "faults", "hash", "operations",
		"recipe", "seed", "steps", "strategy", "verdict", "violations", "workload"}
	violationFields = []string{"clients", "episode", "faults", "file", "message", "property", "steps"}
)

// command runs torture in this process, in a fresh folder.
func command(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	status = run(t.Context(), args, console.Streams{Stdout: &out, Stderr: &err, Self: "torture"})
	return status, out.String(), atOnce.ReplaceAllString(err.String(), "")
}

// object runs torture with --json and returns the one object that it prints.
func object(t *testing.T, want int, args ...string) map[string]any {
	t.Helper()
	status, stdout, stderr := command(t, append(args, "--json")...)
	if status != want || stderr != "" {
		t.Fatalf("exit status %d, want %d; stderr %q", status, want, stderr)
	}
	in := json.NewDecoder(bytes.NewBufferString(stdout))
	var o map[string]any
	if err := in.Decode(&o); err != nil {
		t.Fatal(err)
	}
	if err := in.Decode(new(any)); err != io.EOF {
		t.Fatalf("there is something after the object: %v", err)
	}
	return o
}

func fields(t *testing.T, o any, want []string) {
	t.Helper()
	have := slices.Sorted(maps.Keys(o.(map[string]any)))
	for _, name := range want {
		if !slices.Contains(have, name) {
			t.Errorf("no field %q in %v", name, have)
		}
	}
}

func TestJSONOfAGoodRun(t *testing.T) {
	t.Chdir(t.TempDir())
	o := object(t, console.ExitOK, "run", "lock", "--seed", "7", "--episodes", "50", "--faults", "loss,crash")
	fields(t, o, summaryFields)
	for name, want := range map[string]any{
		"workload": "lock", "recipe": "ours", "backend": "sim", "strategy": "mix", "seed": 7.0,
		"episodes": 50.0, "verdict": "ok", "violations": []any{},
	} {
		if d := cmp.Diff(want, o[name]); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	if got := slices.Sorted(maps.Keys(o["faults"].(map[string]any))); !slices.Equal(got, []string{"crash", "loss"}) {
		t.Errorf("faults: %v", got)
	}
	for _, name := range []string{"steps", "operations", "elapsed_s", "episodes_per_s"} {
		if n, ok := o[name].(float64); !ok || n <= 0 {
			t.Errorf("%s is %v", name, o[name])
		}
	}
}

func TestJSONOfAViolation(t *testing.T) {
	t.Chdir(t.TempDir())
	o := object(t, console.ExitViolation, "run", "lock", "--recipe", "published/WriteLock", "--seed", "1", "--episodes", "200",
		"--faults", "none", "--out", "out")
	fields(t, o, summaryFields)
	found := o["violations"].([]any)
	if len(found) == 0 {
		t.Fatal("no violations in the object")
	}
	for _, v := range found {
		fields(t, v, violationFields)
		name := v.(map[string]any)["file"].(string)
		file, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		c, err := sim.ReadCounterexample(file)
		file.Close()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if c.Property != v.(map[string]any)["property"] || c.Message != v.(map[string]any)["message"] {
			t.Errorf("%s is about %s: %s", name, c.Property, c.Message)
		}
	}
	// The folder of the run has the same object.
	data, err := os.ReadFile("out/result.json")
	if err != nil {
		t.Fatal(err)
	}
	var kept map[string]any
	if err := json.Unmarshal(data, &kept); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(o, kept); d != "" {
		t.Errorf("result.json differs from what was printed: %s", d)
	}
}
