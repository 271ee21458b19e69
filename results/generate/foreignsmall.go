package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/live"
)

// The smallest case of a cause is looked for from below: rounds of few clients with few operations first, one
// fault in each, at another request in each. What is found is small without being made smaller, but for the plan:
// only the line of the round in which it was found is kept, and no round after that.

// foreignSizes are tried in turn.
var foreignSizes = []struct{ clients, ops int }{{1, 1}, {1, 3}, {2, 3}, {3, 4}}

const (
	foreignSeeds    = 3  // runs of each size
	foreignRounds   = 40 // of each run
	foreignRequests = 12 // at which the fault strikes, in turn
	foreignAgain    = 5  // how often a case is tried again
	foreignTries    = 3  // how often a run is tried that cannot be done
)

// torturer tortures one recipe.
type torturer struct {
	ctx     context.Context
	recipe  foreignRecipe
	library foreignLibrary
	dir     string
	runs    int
	torture func(ctx context.Context, object any, args ...string) error
}

// foreignResult is what is used of the object that torture run --json prints, and the folder of the run.
type foreignResult struct {
	soaked
	Violations []foreignViolation `json:"violations"`
	dir        string
}

type foreignViolation struct {
	Property string `json:"property"`
	Message  string `json:"message"`
	File     string `json:"file"`
	Episode  int    `json:"episode"`
	Times    int    `json:"times"`
	history  []byte // lines of File
}

// read reads the history.
func (v *foreignViolation) read() (err error) {
	v.history, err = os.ReadFile(v.File)
	return err
}

func (v foreignViolation) operations() int { return bytes.Count(v.history, []byte("\n")) }

// paste shows the history, and what is said of it.
func (v foreignViolation) paste(p *page) {
	p.line("")
	p.line("```json")
	p.text.Write(v.history)
	p.line("```")
	p.line("")
	p.line("*%s*: %s.", v.Property, v.Message)
}

// run runs the command, in a folder of its own; again if it could not be done, as on a busy machine whose servers
// lose the run's own client.
func (t *torturer) run(args ...string) (r *foreignResult, err error) {
	for range foreignTries {
		t.runs++
		r = &foreignResult{dir: filepath.Join(t.dir, fmt.Sprintf("%s-%s-%d", t.recipe.library, t.recipe.kind, t.runs))}
		all := append([]string{"run", t.recipe.kind, "--recipe", t.library.command, "--out", r.dir}, args...)
		if err = t.torture(t.ctx, r, all...); err == nil || t.ctx.Err() != nil {
			break
		}
	}
	return r, err
}

// struck says what had struck in the round of a violation, and which faults of servers lasted then.
func (r *foreignResult) struck(v foreignViolation) (string, error) {
	if err := v.read(); err != nil {
		return "", err
	}
	history, err := linearizability.Read(bytes.NewReader(v.history))
	if err != nil {
		return "", err
	}
	file, err := os.ReadFile(filepath.Join(r.dir, "faults.jsonl"))
	if err != nil {
		return "", err
	}
	var struck []string
	for line := range bytes.Lines(file) {
		fault, err := strikeIn(line, v.Episode, history)
		if err != nil {
			return "", fmt.Errorf("faults.jsonl: %w", err)
		}
		if fault != "" {
			struck = append(struck, fault)
		}
	}
	if struck == nil {
		return "nothing had struck", nil
	}
	return strings.Join(struck, "; "), nil
}

// strikeIn is the fault of a line of faults.jsonl if it struck in a round; else empty.
func strikeIn(line []byte, round int, h linearizability.History) (string, error) {
	var s struct {
		live.Strike
		Server, Whom string
		Well         int64
	}
	if err := json.Unmarshal(line, &s); err != nil {
		return "", err
	}
	switch {
	case s.At == 0:
		return "", nil
	case s.Server == "" && s.Round == round:
		return s.String(), nil
	case s.Server != "" && lastsIn(s.At, s.Well, h):
		return fmt.Sprintf("%s of %s", s.Fault.Fault, s.Whom), nil
	}
	return "", nil
}

// lastsIn tells whether any operation of a history was under way between two moments, of which the last may be
// missing.
func lastsIn(from, to int64, h linearizability.History) bool {
	return slices.ContainsFunc(h, func(o linearizability.Operation) bool {
		return (to == 0 || o.Call <= to) && o.Return >= from
	})
}

// foreignCase is a run in which a cause shows.
type foreignCase struct {
	cause                      foreignCause
	seed, clients, ops, rounds int
	plan                       []live.Fault
	violation                  foreignViolation
}

// smallest looks for the smallest case of a cause; nil if there is none.
func (t *torturer) smallest(cause foreignCause) (*foreignCase, error) {
	for _, size := range foreignSizes {
		var cases []*foreignCase
		for seed := 1; seed <= foreignSeeds; seed++ {
			c := foreignCase{cause: cause, seed: seed, clients: size.clients, ops: size.ops, rounds: foreignRounds, plan: everywhere()}
			found, err := t.try(&c, c.plan)
			if err != nil {
				return nil, err
			}
			if len(found) > 0 {
				cases = append(cases, c.reduced(shortest(found)))
			}
		}
		if len(cases) > 0 {
			return slices.MinFunc(cases, func(a, b *foreignCase) int { return a.violation.operations() - b.violation.operations() }), nil
		}
	}
	return nil, nil
}

// everywhere plans a loss in every round, at another request in each.
func everywhere() (plan []live.Fault) {
	for round := range foreignRounds {
		plan = append(plan, live.Fault{Round: round, Client: 1, Request: 1 + round%foreignRequests, Fault: "loss", Variant: "after"})
	}
	return plan
}

// reduced is a case with one violation, the fault of its round, and no round after it.
func (c foreignCase) reduced(v foreignViolation) *foreignCase {
	c.violation, c.rounds = v, v.Episode+1
	c.plan = slices.DeleteFunc(slices.Clone(c.plan), func(f live.Fault) bool { return f.Round != v.Episode })
	return &c
}

// try runs a case by a plan, and returns how the cause showed.
func (t *torturer) try(c *foreignCase, plan []live.Fault) (found []foreignViolation, err error) {
	file := filepath.Join(t.dir, "plan.jsonl")
	var lines bytes.Buffer
	if err := writePlan(&lines, plan); err != nil {
		return nil, err
	}
	if err := os.WriteFile(file, lines.Bytes(), 0o644); err != nil {
		return nil, err
	}
	r, err := t.run("--backend", "ensemble", "--nodes", "1", "--seed", strconv.Itoa(c.seed), "--clients", strconv.Itoa(c.clients), "--ops", strconv.Itoa(c.ops),
		"--episodes", strconv.Itoa(c.rounds), "--plan", file)
	if err != nil {
		return nil, err
	}
	return c.cause.of(r)
}

// of lists what a cause may have broken, with the histories.
func (c foreignCause) of(r *foreignResult) (found []foreignViolation, err error) {
	for _, v := range r.Violations {
		if !slices.Contains(c.properties, v.Property) {
			continue
		}
		if err := v.read(); err != nil {
			return nil, err
		}
		found = append(found, v)
	}
	return found, nil
}

func shortest(found []foreignViolation) foreignViolation {
	return slices.MinFunc(found, func(a, b foreignViolation) int { return a.operations() - b.operations() })
}

// again counts the runs by a plan in which the cause shows once more, in the round of the case.
func (t *torturer) again(c *foreignCase, plan []live.Fault) (times int, err error) {
	for range foreignAgain {
		found, err := t.try(c, plan)
		if err != nil {
			return 0, err
		}
		if slices.ContainsFunc(found, func(v foreignViolation) bool { return v.Episode == c.violation.Episode }) {
			times++
		}
	}
	return times, nil
}
