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

// liveRun is what is run on three real servers, and the verdict that is expected.
type liveRun struct{ kind, recipe, verdict string }

// liveRuns lists every recipe of this project, and a published one that is to be caught.
func liveRuns() (runs []liveRun) {
	for _, e := range workload.Entries() {
		if strings.HasPrefix(e.Recipe, workload.Ours) {
			runs = append(runs, liveRun{e.Kind, e.Recipe, "ok"})
		}
	}
	return append(runs, liveRun{"lock", writeLock, "violation"})
}

const liveDuration = "30s"

// liveResult is what is used of the object that torture run --json prints.
type liveResult struct {
	Episodes   int     `json:"episodes"`
	Operations int64   `json:"operations"`
	Verdict    string  `json:"verdict"`
	Elapsed    float64 `json:"elapsed_s"`
	Violations []struct {
		Property string `json:"property"`
	} `json:"violations"`
}

func measureEnsemble(ctx context.Context, p *page) error {
	p.line("# On three real ZooKeeper servers")
	p.line("")
	p.line("`torture run KIND --recipe RECIPE --backend ensemble --nodes 3 --faults none --duration %s --seed 1`: the same workloads and", liveDuration)
	p.line("judgement, no faults but those that a busy machine makes. The published lock is to be caught here too.")
	p.line("")
	p.table("workload", "recipe", "verdict", "properties broken", "rounds", "operations", "seconds")
	var problem error
	for _, run := range liveRuns() {
		r, err := onServers(ctx, run.kind, run.recipe)
		if err != nil {
			return err
		}
		var broken []string
		for _, v := range r.Violations {
			broken = append(broken, v.Property)
		}
		p.row(run.kind, run.recipe, r.Verdict, strings.Join(broken, ", "), number(r.Episodes), number(r.Operations), fmt.Sprintf("%.0f", r.Elapsed))
		if r.Verdict != run.verdict {
			problem = errors.Join(problem, fmt.Errorf("%w: %s (%s) on real servers: %s instead of %s", errUnexpected, run.kind, run.recipe, r.Verdict, run.verdict))
		}
	}
	return problem
}

// onServers runs a recipe without faults.
func onServers(ctx context.Context, kind, recipe string) (*liveResult, error) {
	var r liveResult
	return &r, torture(ctx, &r, "run", kind, "--recipe", recipe, "--backend", "ensemble", "--nodes", "3", "--faults", "none", "--duration", liveDuration, "--seed", "1")
}

// torture runs the command as a user would, and reads the object that it prints with --json. What came of it is
// in the object: go run turns every failure into exit status 1.
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
