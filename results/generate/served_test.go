package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A recipe is tortured on served servers, and with the faults of that run on real ones; each cause has a case that was
// found on the former and repeated on both.
func TestServedOnBoth(t *testing.T) {
	tt, backends := servedTorturer(t, "")
	one, err := tt.measureServed()
	if err != nil {
		t.Fatal(err)
	}
	if one.Served.dir == one.Real.dir || len(one.Cases) != 1 {
		t.Fatalf("%+v", one)
	}
	c := one.Cases[0]
	want := []repeats{{"serve", foreignAgain, 0}, {"start", foreignAgain, 0}}
	if !slices.Equal(c.Repeats, want) || c.plan[0].Request != 7 {
		t.Errorf("%+v, want %+v", c.Repeats, want)
	}
	if got := strings.Join(slices.Compact(*backends), " "); got != "--serve --start --serve --start" {
		t.Errorf("backends: %s", got)
	}
}

// A cause that shows on served servers and not on real ones is no success.
func TestServedUnconfirmed(t *testing.T) {
	tt, _ := servedTorturer(t, "--start")
	one, err := tt.measureServed()
	if !errors.Is(err, errUnexpected) || !strings.Contains(err.Error(), "kazoo-queue-get is not confirmed") {
		t.Errorf("%v: %+v", err, one)
	}
}

// A violation that no known cause explains is no success, on whichever servers.
func TestServedUnexplained(t *testing.T) {
	for _, broken := range []string{"--serve", "--start"} {
		tt, _ := servedTorturer(t, "")
		correctly := tt.torture
		tt.torture = func(ctx context.Context, object any, args ...string) error {
			if slices.Contains(args, "--duration") && slices.Contains(args, broken) {
				object.(*runResult).Violations = []violation{{Property: "phantom"}}
			}
			return correctly(ctx, object, args...)
		}
		if _, err := tt.measureServed(); !errors.Is(err, errUnexpected) || !strings.Contains(err.Error(), "phantom") {
			t.Errorf("%s: %v", broken, err)
		}
	}
}

// servedTorturer tortures a pretended queue, which is correct on one of the backends, and lists the backends of its
// runs.
func servedTorturer(t *testing.T, correct string) (tt *torturer, backends *[]string) {
	r := &pretended{request: 7, ops: 1, best: 1}
	tt, backends = r.torturer(t), new([]string)
	tt.recipe.causes = []foreignCause{{"kazoo-queue-get", []string{"lost"}, lossAfter}, {"luck", nil, "none"}}
	tt.torture = func(ctx context.Context, object any, args ...string) error {
		backend := "--start"
		if slices.Contains(args, "--serve") {
			backend = "--serve"
		}
		*backends = append(*backends, backend)
		if slices.Contains(args, "--duration") {
			return planned(object.(*runResult).dir, args)
		}
		if backend == correct {
			return nil
		}
		return r.torture(ctx, object, args...)
	}
	return tt, backends
}

// planned writes the faults of a run, or looks for those in the plan of a run on real servers.
func planned(dir string, args []string) error {
	if slices.Contains(args, "--start") {
		_, err := os.Stat(args[slices.Index(args, "--faults-from")+1])
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "faults.jsonl"), nil, 0o644)
}

// The page of served servers has all recipes, and the current text of the cause that is explained there.
func TestServedPage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "served.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range foreignRecipes {
		if n := strings.Count(string(page), "\n| "+r.name+" | serve |"); n != 1 {
			t.Errorf("the page has %d rows of %s", n, r.name)
		}
	}
	if text, err := cleanup.explanation(); err != nil || !strings.Contains(string(page), text) {
		t.Errorf("the page does not say what the text of %s does (%v)", cleanup.text, err)
	}
}
