package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
)

const (
	pauseDuration = "3m"
	pauseSeed     = "2"
)

// paused is a run with pauses, before some resource.
type paused struct {
	*runResult
	Resource string
}

// Overrun is the violation of the resource; the zero violation if there was none.
func (r paused) Overrun() (overrun violation) {
	for _, v := range r.Violations {
		if v.Property == "zombie-write" {
			return v
		}
	}
	return overrun
}

// measurePause runs the same clients with the same pauses twice: before a resource that ignores tokens, and before
// one that checks them.
func measurePause(ctx context.Context) (any, error) {
	var runs []paused
	var problems []error
	var message string
	for _, of := range []struct{ recipe, resource, verdict string }{
		{"unfenced", "takes every write", "violation"}, {"ours", "checks tokens", "ok"},
	} {
		result, err := onServers(ctx, "lock", "--recipe", of.recipe, "--faults", "pause", "--duration", pauseDuration,
			"--seed", pauseSeed)
		if err != nil {
			return nil, err
		}
		r := paused{result, of.resource}
		runs, message = append(runs, r), cmp.Or(r.Overrun().Message, message)
		problems = append(problems, r.expect(of.verdict))
		switch {
		case len(r.Violations) > min(r.Overrun().Times, 1):
			problems = append(problems, fmt.Errorf("%w: %s: %v", errUnexpected, of.recipe, r.Violations))
		case of.recipe == "ours" && r.Refused == 0:
			problems = append(problems, fmt.Errorf("%w: no stale write came to the resource that checks tokens",
				errUnexpected))
		}
	}
	return facts{"Duration": pauseDuration, "Seed": pauseSeed, "Runs": runs, "Message": message},
		errors.Join(problems...)
}
