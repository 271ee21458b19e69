package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// cleanup is a defect of kazoo's Lock that a minute of torture on real servers has not met.
var cleanup = foreignCause{"kazoo-lock-cleanup", []string{"orphan", "progress", "lost-wakeup"}, lossBefore}

// servedCauses are the known defects of a recipe that the page of served servers shows.
func servedCauses(r foreignRecipe) []foreignCause {
	if r.name == "kazoo's Lock" {
		return []foreignCause{cleanup}
	}
	return r.causes
}

// onBoth is a recipe tortured on the servers of torture serve, and then with the same faults on real ones.
type onBoth struct {
	Name         string
	Served, Real *runResult
	Cases        []servedCase
}

// servedCase is a small case of a cause that was found on served servers.
type servedCase struct {
	Text string // the name of the cause's text
	*foreignCase
	Repeats []repeats
}

// repeats counts in how many repetitions a case showed again on a backend, with its fault and without.
type repeats struct {
	Backend       string
	With, Without int
}

func measureServed(ctx context.Context) (any, error) {
	text, err := cleanup.explanation()
	if err != nil {
		return nil, err
	}
	found, err := tortureForeign(ctx, func(t *torturer) (onBoth, error) {
		t.recipe.causes = servedCauses(t.recipe)
		return t.measureServed()
	})
	if found == nil {
		return nil, err
	}
	found["Again"], found["Cleanup"] = foreignAgain, text
	return found, err
}

// measureServed tortures a recipe on served servers and, with the faults of that run, on real ones. It seeks a small
// case of each cause on served servers, and confirms it on real ones.
func (t *torturer) measureServed() (one onBoth, err error) {
	one.Name = t.recipe.name
	run := []string{"--seed", "1", "--duration", foreignTorture}
	if one.Served, err = t.run(append(run, "--serve", "3")...); err != nil {
		return one, err
	}
	plan := filepath.Join(one.Served.dir, "faults.jsonl")
	if one.Real, err = t.run(append(run, "--start", "3", "--faults-from", plan)...); err != nil {
		return one, err
	}
	problems := []error{t.unexplained(one.Served), t.unexplained(one.Real)}
	for _, cause := range t.recipe.causes {
		c, problem := t.onBoth(cause)
		if err := fatal(problem, nil); err != nil {
			return one, err
		}
		problems = append(problems, problem)
		if c != nil {
			one.Cases = append(one.Cases, *c)
		}
	}
	return one, errors.Join(problems...)
}

// onBoth finds a case on served servers and repeats it there and on real ones; nil for a cause that needs luck.
func (t *torturer) onBoth(cause foreignCause) (*servedCase, error) {
	if _, planned := cause.variant(); !planned {
		return nil, nil
	}
	t.servers = "--serve"
	found, err := t.smallest(cause)
	if err != nil {
		return nil, err
	}
	if found == nil {
		return nil, fmt.Errorf("%w: %s: %s did not show in small rounds", errUnexpected, t.recipe.name, cause.text)
	}
	c := &servedCase{Text: cause.text, foreignCase: found}
	for _, t.servers = range []string{"--serve", "--start"} {
		r := repeats{Backend: t.servers[2:]}
		if r.With, err = t.again(found, found.plan); err != nil {
			return nil, err
		}
		if r.Without, err = t.again(found, nil); err != nil {
			return nil, err
		}
		c.Repeats = append(c.Repeats, r)
	}
	return c, c.confirmed(t.recipe.name)
}

// confirmed returns an error unless the case has shown again on real servers, and nowhere without its fault.
func (c *servedCase) confirmed(recipe string) error {
	accused := slices.ContainsFunc(c.Repeats, func(r repeats) bool { return r.Without > 0 })
	if c.Repeats[len(c.Repeats)-1].With == 0 || accused {
		return fmt.Errorf("%w: %s: %s is not confirmed: %+v", errUnexpected, recipe, c.Text, c.Repeats)
	}
	return nil
}

// Title is the heading of the cause's text.
func (c servedCase) Title() (string, error) {
	text, err := c.cause.explanation()
	title, _, _ := strings.Cut(text, "\n")
	return strings.TrimPrefix(title, "### "), err
}

// Fault is the line of the plan.
func (c servedCase) Fault() (string, error) {
	plan, err := c.Plan()
	return strings.TrimSpace(plan), err
}
