package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/live"
)

// Each cause has a text and properties, and each text a cause.
func TestForeignTexts(t *testing.T) {
	used := map[string]bool{}
	for _, r := range append(goRecipesOfFile(t), foreignRecipes...) {
		for _, c := range servedCauses(r) {
			text, err := c.explanation()
			if err != nil || !strings.HasPrefix(text, "### ") || !strings.Contains(text, "*Real, or misused?*") {
				t.Errorf("%s: %v: the text must say what is wrong and whether it is real:\n%s", c.text, err, text)
			}
			if len(c.properties) == 0 {
				t.Errorf("%s is no cause of anything", c.text)
			}
			used[c.text] = true
		}
	}
	files, err := texts.ReadDir("foreign")
	if err != nil || len(files) != len(used) {
		t.Errorf("%d texts for %d causes (%v)", len(files), len(used), err)
	}
}

// An unexplained violation is no success, and neither is an undecided run.
func TestForeignUnexplained(t *testing.T) {
	tt := torturer{recipe: foreignRecipe{name: "a queue", causes: []foreignCause{{"c", []string{"lost"}, lossAfter}}}}
	r := &runResult{Violations: []violation{{Property: "lost"}}}
	if err := tt.unexplained(r); err != nil {
		t.Error(err)
	}
	r.Violations = append(r.Violations, violation{Property: "phantom"})
	if err := tt.unexplained(r); !errors.Is(err, errUnexpected) || !strings.Contains(err.Error(), "explained phantom") {
		t.Errorf("phantom: %v", err)
	}
	if err := tt.unexplained(&runResult{Verdict: "unknown", Reason: "too long"}); !errors.Is(err, errUnexpected) {
		t.Errorf("unknown: %v", err)
	}
}

// pretended is a recipe broken by a loss at one request of users with enough operations, in a history that is longer
// with each seed but one; if it is haunted, without a loss too.
type pretended struct {
	request, ops, best int
	haunted            bool
	runs               int
}

func (r *pretended) torture(_ context.Context, object any, args ...string) error {
	r.runs++
	value := map[string]string{}
	for i := 2; i < len(args); i += 2 {
		value[args[i]] = args[i+1]
	}
	number := func(flag string) (n int) { n, _ = strconv.Atoi(value[flag]); return n }
	out := object.(*runResult)
	if value["--faults-from"] == "" {
		return nil
	}
	in, err := os.Open(value["--faults-from"])
	if err != nil {
		return err
	}
	defer in.Close()
	plan, err := live.ReadFaultPlan(in)
	if err != nil {
		return err
	}
	for round := range number("--episodes") {
		struck := len(plan.Rounds[round]) == 1 && plan.Rounds[round][0].Request == r.request
		if number("--ops") < r.ops || !struck && !r.haunted {
			continue
		}
		lines := 1 + (number("--seed")-r.best)*(number("--seed")-r.best)
		file := filepath.Join(filepath.Dir(value["--faults-from"]), fmt.Sprintf("%d.jsonl", r.runs))
		out.Violations = append(out.Violations, violation{Property: "lost", Message: "gone", File: file,
			Episode: round, Times: 1})
		return os.WriteFile(file, []byte(strings.Repeat("{}\n", lines)), 0o644)
	}
	return nil
}

func (r *pretended) torturer(t *testing.T) *torturer {
	return &torturer{ctx: t.Context(), recipe: foreignRecipe{name: "a queue", kind: "queue", library: "none"},
		dir: t.TempDir(), torture: r.torture}
}

// The smallest case has the first size in which the cause shows, the seed with the shortest history, and the one
// fault that it needs. It shows again with only that fault.
func TestForeignSmallest(t *testing.T) {
	r := &pretended{request: 7, ops: 3, best: 2}
	tt := r.torturer(t)
	cause := foreignCause{"c", []string{"lost"}, lossAfter}
	c, err := tt.smallest(cause)
	if err != nil || c == nil {
		t.Fatal(c, err)
	}
	want := live.Fault{Round: 6, Client: 1, Request: 7, Fault: "loss", Variant: "after"}
	if c.Clients != 1 || c.Ops != 3 || c.Seed != 2 || c.Rounds != 7 || len(c.plan) != 1 || c.plan[0] != want ||
		c.Violation.operations() != 1 {
		t.Errorf("%+v", c)
	}
	if err := tt.repeat(c); err != nil {
		t.Error(err)
	}
	text := textOf(t, shown{Case: c})
	for _, part := range []string{
		"--seed 2 --clients 1 --ops 3 --episodes 7 --faults-from FILE",
		`{"round":6,"client":1,"request":7,"fault":"loss","variant":"after"}`,
		"seen again in 5 of 5 runs; with an empty FILE, in 0 of 5", "*lost*: gone.",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in\n%s", part, text)
		}
	}
}

// A run that fails to start is retried a limited number of times.
func TestForeignTries(t *testing.T) {
	runs, dirs := 0, map[string]bool{}
	cannot := errors.New("connection closed")
	tt := &torturer{ctx: t.Context(), torture: func(_ context.Context, object any, _ ...string) error {
		dirs[object.(*runResult).dir] = true
		if runs++; runs == 2 {
			return nil
		}
		return cannot
	}}
	if _, err := tt.run(); err != nil || runs != 2 || len(dirs) != 2 {
		t.Errorf("%v after %d runs in %d folders", err, runs, len(dirs))
	}
	if _, err := tt.run(); !errors.Is(err, cannot) || runs != 2+foreignTries {
		t.Errorf("%v after %d runs", err, runs)
	}
}

// A case that shows without its fault, and a cause that does not show with it, are no success. A cause that needs
// luck may not show.
func TestForeignNotShown(t *testing.T) {
	tt := (&pretended{haunted: true}).torturer(t)
	cause := foreignCause{"kazoo-queue-get", []string{"lost"}, lossAfter}
	if _, err := tt.explain(cause); !errors.Is(err, errUnexpected) ||
		!strings.Contains(err.Error(), "in 5 runs with its fault and in 5 without") {
		t.Errorf("haunted: %v", err)
	}
	tt = (&pretended{request: foreignRequests + 1}).torturer(t)
	if _, err := tt.explain(cause); !errors.Is(err, errUnexpected) {
		t.Errorf("never: %v", err)
	}
	s, err := tt.explain(foreignCause{"curator-queue-empty", []string{"false-empty"}, "none"})
	if text := textOf(t, s); err != nil || !strings.Contains(text, "it needs luck") {
		t.Errorf("never without faults: %v %s", err, text)
	}
}

// textOf is the text of a cause on the page.
func textOf(t *testing.T, s shown) string {
	t.Helper()
	var text strings.Builder
	if err := pages.ExecuteTemplate(&text, "cause", s); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// The plan has a fault in every round, at each request in turn, and can be parsed.
func TestForeignPlan(t *testing.T) {
	text, err := planText(everywhere(foreignCause{faults: lossBefore}))
	if err != nil {
		t.Fatal(err)
	}
	plan, err := live.ReadFaultPlan(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	requests := map[int]bool{}
	for round := range foreignRounds {
		if len(plan.Rounds[round]) != 1 || plan.Rounds[round][0].Variant != "before" {
			t.Fatalf("round %d: %v", round, plan.Rounds[round])
		}
		requests[plan.Rounds[round][0].Request] = true
	}
	if len(plan.Rounds) != foreignRounds || len(requests) != foreignRequests {
		t.Errorf("%d rounds, %d requests", len(plan.Rounds), len(requests))
	}
}

// The faults of a violation are those that struck in its round, and server faults that lasted then.
func TestForeignStruck(t *testing.T) {
	dir := t.TempDir()
	history, faults := filepath.Join(dir, "h.jsonl"), filepath.Join(dir, "faults.jsonl")
	for name, text := range map[string]string{
		history: `{"client":0,"op":"get","arg":null,"result":0,"outcome":"ok","call":100,"return":200}` + "\n",
		faults: `{"round":3,"client":1,"request":2,"fault":"loss","variant":"after","at":120,"struck":true}
{"round":3,"client":1,"request":9,"fault":"expiry","variant":"after","struck":false}
{"round":4,"client":1,"request":2,"fault":"cancel","at":130,"struck":true}
{"at_ms":1,"fault":"lag","server":"follower","variant":"200ms","for_ms":5,"at":90,"whom":"server.2 (follower)","well":101,"struck":true}
{"at_ms":1,"fault":"stop","server":"leader","for_ms":5,"at":10,"whom":"server.1 (leader)","well":99,"struck":true}
{"at_ms":1,"fault":"kill","server":"leader","for_ms":5,"at":201,"whom":"server.1 (leader)","struck":true}
`,
	} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r := &runResult{dir: dir}
	v := violation{File: history, Episode: 3}
	err := r.struck(&v)
	if want := "c1's request 2: loss after; lag of server.2 (follower)"; err != nil || v.Struck != want {
		t.Errorf("%v %q, want %q", err, v.Struck, want)
	}
}

// The error names a missing library, and how to install it.
func TestForeignMissing(t *testing.T) {
	_, kazoo := findKazoo(t.Context(), filepath.Join(t.TempDir(), "python3"))
	_, curator := findCurator(t.Context(), t.TempDir(), t.TempDir())
	for name, err := range map[string]error{"kazoo": kazoo, "Curator": curator} {
		if err == nil || !strings.HasPrefix(err.Error(), name+" is not here") ||
			!strings.Contains(err.Error(), "`make foreign` installs it") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestJarVersion(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"zookeeper.jar", "zookeeper-3.8.0.jar", "zookeeper-recipes-lock-3.7.0.jar"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if v, err := jarVersion(dir, "zookeeper"); v != "3.8.0" || err != nil {
		t.Error(v, err)
	}
	if v, err := jarVersion(dir, "curator-recipes"); err == nil {
		t.Error(v)
	}
}
