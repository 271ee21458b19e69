package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/zktorture/zktorture/workload"
)

// liveRun is a run on three real servers with its expected verdict.
type liveRun struct{ kind, recipe, verdict string }

// liveRuns lists every recipe of this project, and a published one that must fail.
func liveRuns() (runs []liveRun) {
	for _, e := range workload.Entries() {
		if strings.HasPrefix(e.Recipe, workload.Ours) {
			runs = append(runs, liveRun{e.Kind, e.Recipe, "ok"})
		}
	}
	return append(runs, liveRun{"lock", writeLock, "violation"})
}

const liveDuration = "30s"

// runResult is the part in use of the object that torture run --json prints, and the folder of the run.
type runResult struct {
	Workload, Recipe string
	Episodes         int
	Operations       int64
	Refused          int
	Faults           map[string]int
	Verdict, Reason  string
	Recovery         float64 `json:"recovery_s"`
	Elapsed          float64 `json:"elapsed_s"`
	Violations       []violation
	dir              string
}

// Minutes is the duration of the run.
func (r *runResult) Minutes() float64 { return r.Elapsed / 60 }

// Broken are the broken properties.
func (r *runResult) Broken() []string {
	return names(r.Violations, func(v violation) string { return v.Property })
}

// expect returns an error unless the verdict is as expected.
func (r *runResult) expect(verdict string) error {
	if r.Verdict == verdict {
		return nil
	}
	return fmt.Errorf("%w: %s (%s) on real servers: %s %s instead of %s: %v", errUnexpected,
		r.Workload, r.Recipe, r.Verdict, r.Reason, verdict, r.Violations)
}

func measureEnsemble(ctx context.Context) (any, error) {
	var runs []*runResult
	var problems []error
	for _, run := range liveRuns() {
		r, err := onServers(ctx, run.kind, "--recipe", run.recipe, "--faults", "none",
			"--duration", liveDuration, "--seed", "1")
		if err != nil {
			return nil, err
		}
		runs, problems = append(runs, r), append(problems, r.expect(run.verdict))
	}
	return facts{"Duration": liveDuration, "Runs": runs}, errors.Join(problems...)
}

// onServers runs a recipe of a kind on three real servers.
func onServers(ctx context.Context, kind string, args ...string) (*runResult, error) {
	var r runResult
	return &r, torture(ctx, &r, append([]string{"run", kind, "--backend", "ensemble", "--nodes", "3"}, args...)...)
}

// torture runs the command as a user would, and reads the object that it prints with --json. The outcome is in the
// object: go run turns every failure into exit status 1.
func torture(ctx context.Context, object any, args ...string) error {
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, "go", append(append([]string{"run", "./cmd/torture"}, args...), "--json")...)
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	err := cmd.Run()
	if json.Unmarshal(out.Bytes(), object) != nil {
		return fmt.Errorf("torture %s printed no result: %w", strings.Join(args, " "), err)
	}
	return nil
}
