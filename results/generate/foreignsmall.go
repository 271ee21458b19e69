package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/linearizability/histories"
	"github.com/zktorture/zktorture/live"
)

// The smallest case of a cause is sought from below: rounds of few clients with few operations first, with one fault
// each, at a different request each. The case found is small already, except for its plan: only the line of its round
// is kept, and no later round runs.

// foreignSizes are tried in order.
var foreignSizes = []struct{ clients, ops int }{{1, 1}, {1, 3}, {2, 3}, {3, 4}}

const (
	foreignSeeds    = 3  // runs of each size
	foreignRounds   = 40 // of each run
	foreignRequests = 12 // requests at which the fault strikes, in turn
	foreignAgain    = 5  // repetitions of a case
	foreignTries    = 3  // tries of a run that fails to start
)

// torturer tortures one recipe.
type torturer struct {
	ctx     context.Context
	recipe  foreignRecipe
	library foreignLibrary
	dir     string
	servers string // on which cases are tried: --start or --serve
	runs    int
	torture func(ctx context.Context, object any, args ...string) error
}

// violation is a violation that a run found.
type violation struct {
	Property, Message, File string
	Episode, Times          int

	Struck  string `json:"-"` // faults that struck in its round
	history []byte // lines of File
}

// read reads the history.
func (v *violation) read() (err error) {
	v.history, err = os.ReadFile(v.File)
	return err
}

// History is what the clients saw.
func (v violation) History() string { return string(v.history) }

func (v violation) operations() int { return bytes.Count(v.history, []byte("\n")) }

// run runs the command in a folder of its own. It retries a run that fails to start, as on a busy machine whose
// servers lose the run's own client.
func (t *torturer) run(args ...string) (r *runResult, err error) {
	for range foreignTries {
		t.runs++
		r = &runResult{dir: filepath.Join(t.dir, fmt.Sprintf("%s-%s-%d", t.recipe.library, t.recipe.kind, t.runs))}
		all := append([]string{"live", t.recipe.kind, "--recipe", t.library.command, "--out", r.dir}, args...)
		if err = t.torture(t.ctx, r, all...); err == nil || t.ctx.Err() != nil {
			break
		}
	}
	return r, err
}

// struck records the faults that struck in the round of a violation, and the server faults that lasted then.
func (r *runResult) struck(v *violation) error {
	if err := v.read(); err != nil {
		return err
	}
	history, err := histories.Read(bytes.NewReader(v.history))
	if err != nil {
		return err
	}
	file, err := os.ReadFile(filepath.Join(r.dir, "faults.jsonl"))
	if err != nil {
		return err
	}
	var struck []string
	for line := range bytes.Lines(file) {
		fault, err := strikeIn(line, v.Episode, history)
		if err != nil {
			return fmt.Errorf("faults.jsonl: %w", err)
		}
		if fault != "" {
			struck = append(struck, fault)
		}
	}
	v.Struck = cmp.Or(strings.Join(struck, "; "), "nothing had struck")
	return nil
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

// lastsIn reports whether an operation of a history was under way between two stamps, the last of which may be missing.
func lastsIn(from, to int64, h linearizability.History) bool {
	return slices.ContainsFunc(h, func(o linearizability.Operation) bool {
		return (to == 0 || o.Call <= to) && o.Return >= from
	})
}

// foreignCase is a run in which a cause shows.
type foreignCase struct {
	cause                      foreignCause
	Kind                       string
	Seed, Clients, Ops, Rounds int
	plan                       []live.Fault
	Violation                  violation
	With, Without              int // how often it showed again, with its fault and without
}

// Again is how often it was repeated.
func (foreignCase) Again() int { return foreignAgain }

// Plan is the plan in the format of --faults-from.
func (c foreignCase) Plan() (string, error) { return planText(c.plan) }

// smallest seeks the smallest case of a cause; nil if there is none.
func (t *torturer) smallest(cause foreignCause) (*foreignCase, error) {
	for _, size := range foreignSizes {
		var cases []*foreignCase
		for seed := 1; seed <= foreignSeeds; seed++ {
			c := foreignCase{cause: cause, Kind: t.recipe.kind, Seed: seed, Clients: size.clients, Ops: size.ops,
				Rounds: foreignRounds}
			c.plan = everywhere(cause)
			found, err := t.try(&c, c.plan)
			if err != nil {
				return nil, err
			}
			if len(found) > 0 {
				cases = append(cases, c.reduced(shortest(found)))
			}
		}
		if len(cases) > 0 {
			return slices.MinFunc(cases,
				func(a, b *foreignCase) int { return a.Violation.operations() - b.Violation.operations() }), nil
		}
	}
	return nil, nil
}

// everywhere plans a loss in every round, at a different request each.
func everywhere(cause foreignCause) (plan []live.Fault) {
	variant, _ := cause.variant()
	for round := range foreignRounds {
		plan = append(plan, live.Fault{Round: round, Client: 1, Request: 1 + round%foreignRequests, Fault: "loss",
			Variant: variant})
	}
	return plan
}

// reduced is a case with one violation, the fault of its round, and no later round.
func (c foreignCase) reduced(v violation) *foreignCase {
	c.Violation, c.Rounds = v, v.Episode+1
	c.plan = slices.DeleteFunc(slices.Clone(c.plan), func(f live.Fault) bool { return f.Round != v.Episode })
	return &c
}

// try runs a case with a plan, and returns the violations of the cause.
func (t *torturer) try(c *foreignCase, plan []live.Fault) (found []violation, err error) {
	file := filepath.Join(t.dir, "plan.jsonl")
	lines, err := planText(plan)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(file, []byte(lines), 0o644); err != nil {
		return nil, err
	}
	r, err := t.run(t.servers, "1", "--seed", strconv.Itoa(c.Seed),
		"--clients", strconv.Itoa(c.Clients),
		"--ops", strconv.Itoa(c.Ops), "--episodes", strconv.Itoa(c.Rounds), "--faults-from", file)
	if err != nil {
		return nil, err
	}
	return c.cause.of(r)
}

// of lists the violations that the cause may explain, with their histories.
func (c foreignCause) of(r *runResult) (found []violation, err error) {
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

func shortest(found []violation) violation {
	return slices.MinFunc(found, func(a, b violation) int { return a.operations() - b.operations() })
}

// again counts the runs with a plan in which the cause shows again, in the round of the case.
func (t *torturer) again(c *foreignCase, plan []live.Fault) (times int, err error) {
	for range foreignAgain {
		found, err := t.try(c, plan)
		if err != nil {
			return 0, err
		}
		if slices.ContainsFunc(found, func(v violation) bool { return v.Episode == c.Violation.Episode }) {
			times++
		}
	}
	return times, nil
}
