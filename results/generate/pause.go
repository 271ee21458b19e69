package main

import (
	"context"
	"errors"
	"fmt"
)

const (
	pauseDuration = "3m"
	pauseSeed     = "2"
)

// paused is what is used of the object that torture run --json prints.
type paused struct {
	soaked
	Refused int `json:"refused"`
}

// overruns returns how often the resource was overrun, and the sentence that says so.
func (r *paused) overruns() (times int, message string) {
	for _, v := range r.Violations {
		if v.Property == "zombie-write" {
			return v.Times, v.Message
		}
	}
	return 0, ""
}

// measurePause runs the same clients with the same pauses twice: before a resource that looks at no tokens, and
// before one that does.
func measurePause(ctx context.Context, p *page) error {
	p.line("# What a pause does, and what tokens are for")
	p.line("")
	p.line("`torture run lock --recipe RECIPE --backend ensemble --nodes 3 --faults pause --duration %s --seed %s`: each client is a", pauseDuration, pauseSeed)
	p.line("process, and processes are stopped (SIGSTOP) at requests that the seed draws, most of them for longer than their")
	p.line("sessions last, as a long garbage collection does. The lock is the same in both rows, and so is what is drawn. A")
	p.line("holder that sleeps loses the lock, and goes on where it stood when it wakes: with the write that it was about to make.")
	p.line("*Overrun* counts rounds in which the resource accepted such a write after one of a later holder; *refused*, writes that")
	p.line("it turned away because a later token had been there.")
	p.line("")
	p.table("recipe", "the resource", "verdict", "rounds", "operations", "pauses", "overrun", "refused")
	var problems []error
	var message string
	for _, of := range []struct{ recipe, resource, verdict string }{
		{"unfenced", "takes every write", "violation"}, {"ours", "checks tokens", "ok"},
	} {
		var r paused
		err := torture(ctx, &r, "run", "lock", "--recipe", of.recipe, "--backend", "ensemble", "--nodes", "3", "--faults", "pause",
			"--duration", pauseDuration, "--seed", pauseSeed)
		if err != nil {
			return err
		}
		times, said := r.overruns()
		if said != "" {
			message = said
		}
		p.row("`"+of.recipe+"`", of.resource, r.Verdict, number(r.Episodes), number(r.Operations), number(r.Faults["pause"]), number(times), number(r.Refused))
		switch {
		case r.Verdict != of.verdict || len(r.Violations) > min(times, 1):
			problems = append(problems, fmt.Errorf("%w: %s: %s %s %v", errUnexpected, of.recipe, r.Verdict, r.Reason, r.Violations))
		case of.recipe == "ours" && r.Refused == 0:
			problems = append(problems, fmt.Errorf("%w: no stale write came to the resource that checks tokens", errUnexpected))
		}
	}
	p.line("")
	p.line("The first overrun, in the words of the run:")
	p.line("")
	p.line("> %s", message)
	return errors.Join(problems...)
}
