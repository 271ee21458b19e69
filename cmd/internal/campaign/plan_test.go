package campaign

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
	"github.com/zktorture/zktorture/zoo"
)

// What is wrong with a plan is said in a line, with what to do; the line of the file is named where there is one.
func TestWrongPlans(t *testing.T) {
	for fields, want := range map[string]string{
		`"jobs": [{}], "episods": 5`:                                   `line 3: unknown field "episods"`,
		`"jobs": [{` + "\n" + `"recipe": "ours"}]`:                     `line 4: unknown field "recipe"`,
		`"jobs": [{"animals": ["W1"]}]`:                                `line 3: unknown field "animals": write "bugs"`,
		`"jobs": [{"shares": 4}]`:                                      `unknown field "shares": use torture prove`,
		`"jobs": [{}], "main": "./own"`:                                `unknown field "main": start the campaign with the command`,
		`"jobs": {}`:                                                   `line 3: jobs: a object does not belong here`,
		`"jobs": [{}], "episodes": "5"`:                                `episodes: a string does not belong here`,
		`"jobs": [{"seeds": [-1]}]`:                                    `a number -1 does not belong here`,
		`"jobs": [{}], "duration": "8 hours"`:                          `"8 hours" is not a duration: write it as 30s, 10m or 8h`,
		`"jobs": [{}],, "episodes": 5`:                                 `line 3: this is not JSON`,
		`"jobs": []`:                                                   `jobs: there are none: write "jobs": [{}]`,
		`"jobs": [{}], "episodes": -1`:                                 `episodes: -1 is impossible`,
		`"jobs": [{}], "episodes": 5, "duration": "1h"`:                `episodes and duration: only one can end the campaign`,
		`"jobs": [{}], "duration": "-1h"`:                              `duration: -3600000000000 is impossible`,
		`"jobs": [{}], "unit": 9999999`:                                `unit: 9999999 is impossible`,
		`"jobs": [{}], "tries": -1`:                                    `tries: -1 is impossible`,
		`"jobs": [{}], "known": [{"id": "x"}]`:                         `known[0]: it has no counterexample`,
		`"jobs": [{}], "canary": "W1"`:                                 `canary: "W1" has no known rate: write "canary"`,
		`"jobs": [{}], "canary": "X99"`:                                `canary: no known bug is called "X99"`,
		`"jobs": [{"kinds": ["look"]}]`:                                `jobs[0]: kinds: unknown workload "look"`,
		`"jobs": [{"recipes": ["mine"]}]`:                              `jobs[0]: recipes: "mine" is unknown`,
		`"jobs": [{"kinds": ["queue"], "recipes": ["unfenced"]}]`:      `jobs[0]: recipes: queue has none of unfenced`,
		`"jobs": [{}, {"bugs": ["X99"]}]`:                              `jobs[1]: bugs: no known bug is called "X99"`,
		`"jobs": [{"bugs": ["W1"], "kinds": ["lock"]}]`:                `bugs: they have their own kinds`,
		`"jobs": [{"bugs": ["` + exactBug(t) + `"]}]`:                  `shows in exact mode only: write "exact": true`,
		`"jobs": [{"strategies": ["rnd"]}]`:                            `strategies: unknown strategy "rnd"`,
		`"jobs": [{"strategies": ["exhaustive"]}]`:                     `use torture prove`,
		`"jobs": [{"faults": "gravity"}]`:                              `faults: unknown fault "gravity"`,
		`"jobs": [{"clients": 65}]`:                                    `clients and ops: 65 with 0 are impossible`,
		`"jobs": [{"strategies": ["near"]}]`:                           `strategy near needs known failures`,
		`"jobs": [{"kinds": ["lock"]}, {"recipes": ["ours"]}]`:         `twice, leave one out: lock (ours), strategy mix`,
		`"jobs": [{"bugs": ["canary"]}]`:                               `this one is there twice`,
		`"jobs": [{"seeds": [` + strings.Repeat("1,", 20_000) + `1]}]`: `there are more than 10000 jobs`,
		`"jobs": [{}` + strings.Repeat(`,{}`, 10_000) + `]`:            `there are more than 10000 jobs`,
		`"jobs": [{}], "episodes": 549755813888, "unit": 1`:            `episodes: they make more than 1000000 units: write a larger unit`,
	} {
		_, err := ParsePlan([]byte("{\n\"format\": \"zktorture plan 1\", \"name\": \"x\",\n" + fields + "}"))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.100s: %v\nwanted: %s", fields, err, want)
		}
	}
	for text, want := range map[string]string{
		``:                              `line 1: the file is cut off here`,
		`{"format": "x", "jobs": [{}`:   `line 1: the file is cut off here`,
		`{"format": "v2", "jobs":[{}]}`: `format: it is "v2", and this version reads "zktorture plan 1"`,
		`{"format": "zktorture plan 1", "jobs": [{}]} {}`: `something follows the plan`,
	} {
		if _, err := ParsePlan([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v\nwanted: %s", text, err, want)
		}
	}
}

// exactBug is the id of a known bug that needs exact mode.
func exactBug(t *testing.T) string {
	t.Helper()
	for _, a := range bugs() {
		if a.Exact {
			return a.ID
		}
	}
	t.Fatal("no known bug needs exact mode")
	return ""
}

// bugs are all known bugs.
func bugs() []zoo.KnownBug { return append(zoo.KnownBugs(), zoo.Skipped()...) }

// The jobs of a plan: defaults are resolved, and the canary comes first.
func TestJobs(t *testing.T) {
	canary := Job{Kind: "lock", Recipe: "zoo/canary", Bug: "canary", Canary: true, Strategy: "random", Seed: 1,
		Episodes: CanaryEpisodes, Faults: "none", Clients: 3, Ops: 4}
	ours := Job{Kind: "queue", Recipe: "ours", Strategy: "mix", Seed: 1, Episodes: 10_000, Faults: "all", Clients: 3, Ops: 4}
	with := func(j Job, change func(*Job)) Job { change(&j); return j }
	for fields, want := range map[string][]Job{
		`"jobs": [{"kinds": ["queue"], "recipes": ["ours"]}]`: {canary, ours},
		`"jobs": [{"kinds": ["queue"], "recipes": ["ours"], "strategies": ["pos"], "seeds": [7, 8], "wire": true,
			"faults": "loss,crash", "clients": 2, "ops": 1}], "duration": "8h", "canary": "none"`: {
			{Kind: "queue", Recipe: "ours", Strategy: "pos", Seed: 7, Faults: "loss,crash", Clients: 2, Ops: 1, Wire: true},
			{Kind: "queue", Recipe: "ours", Strategy: "pos", Seed: 8, Faults: "loss,crash", Clients: 2, Ops: 1, Wire: true},
		},
		`"jobs": [{"bugs": ["canary"], "strategies": ["pos"], "seeds": [4]}], "canary": "none"`: {
			with(canary, func(j *Job) { j.Seed = 4 }),
		},
	} {
		if got := plan(t, fields).List(); !slices.Equal(got, want) {
			t.Errorf("%s:\n%v\nnot\n%v", fields, asJSON(t, got), asJSON(t, want))
		}
	}
}

// "All" are all recipes that are not broken on purpose, and all known bugs.
func TestAllJobs(t *testing.T) {
	var recipes, hunted, exact int
	for _, j := range plan(t, `"jobs": [{}, {"bugs": ["all"]}, {"bugs": ["all"], "exact": true}]`).List()[1:] {
		switch {
		case j.Bug == "" && (strings.HasPrefix(j.Recipe, "published/") || j.Recipe == "unfenced"):
			t.Errorf("%v is broken on purpose", j)
		case j.Bug == "":
			recipes++
		case j.Exact:
			exact++
		default:
			hunted++
		}
	}
	onPurpose, needing := 0, 0
	for _, e := range workload.Entries() {
		if strings.HasPrefix(e.Recipe, "published/") || e.Recipe == "unfenced" {
			onPurpose++
		}
	}
	for _, a := range bugs() {
		if a.Exact {
			needing++
		}
	}
	if all := len(bugs()) - 1; recipes != len(workload.Entries())-onPurpose || hunted != all-needing || exact != all {
		t.Errorf("%d recipes, %d known bugs, %d in exact mode", recipes, hunted, exact)
	}
}

// The units of a plan are pieces of its jobs, each episode in one, and rounds are fair to all jobs.
func TestUnits(t *testing.T) {
	p := plan(t, `"jobs": [{"kinds": ["lock", "queue"], "recipes": ["ours"]}], "episodes": 2500, "unit": 1000`)
	p = must[*Plan](t)(p.Record("", []Known{{Counterexample: &sim.Counterexample{}}}))
	next, turns, last := make([]int, 3), make([]int, 3), -1
	for u := range p.Each() {
		if again, ok := p.Unit(u.Number); !ok || again != u || u.Number <= last {
			t.Errorf("unit %d is %+v, and %+v", u.Number, u, again)
		}
		last = u.Number
		if u.Job < 0 {
			continue
		}
		if u.From != next[u.Job] || u.Episodes < 1 || turns[u.Job] < 3 && turns[u.Job] > slices.Min(turns) {
			t.Errorf("%+v comes at %d, after %v", u, next[u.Job], turns)
		}
		next[u.Job] += u.Episodes
		turns[u.Job]++
	}
	if !slices.Equal(next, []int{CanaryEpisodes, 2500, 2500}) || p.Units() != 1+7+3+3 {
		t.Errorf("%v episodes, %d units", next, p.Units())
	}
	for _, n := range []int{-1, last + 1} {
		if u, ok := p.Unit(n); ok {
			t.Errorf("there is %+v", u)
		}
	}
	if endless := plan(t, `"jobs": [{"kinds": ["lock"], "recipes": ["ours"]}], "duration": "1h", "canary": "none"`); endless.Units() != 0 {
		t.Errorf("%d units", endless.Units())
	} else if u, ok := endless.Unit(1 << 20); !ok || u.From != 1<<20*1000 {
		t.Errorf("%+v", u)
	}
}

// A job of strategy near is there where a failure of the same kind is known.
func TestNearNeedsKnownFailures(t *testing.T) {
	p := plan(t, `"jobs": [{"kinds": ["lock", "queue"], "recipes": ["ours"], "strategies": ["mix", "near"]}]`)
	failure := &sim.Counterexample{Workload: "queue", Choices: world.Choices{1, 2}}
	for want, known := range [][]Known{nil, {{ID: "k", Counterexample: failure}}} {
		recorded, near := must[*Plan](t)(p.Record("", known)), 0
		for i, j := range recorded.List() {
			if j.Strategy == sim.Near {
				near++
				if _, cfg, err := recorded.Config(i); err != nil || len(cfg.Near) != 1 || j.Kind != "queue" {
					t.Errorf("%v: %v, %v", j, cfg.Near, err)
				}
			}
		}
		if near != want {
			t.Errorf("%d jobs of strategy near, not %d", near, want)
		}
	}
}

// The digest is of what a plan stands for: the same when defaults are written down, and in a recorded plan that comes from
// a file, and another when anything else is.
func TestDigest(t *testing.T) {
	p := plan(t, `"jobs": [{"kinds": ["lock"]}]`)
	again := plan(t, `"jobs": [{"kinds": ["lock"]}], "episodes": 10000, "tries": 3`)
	if again = throughJSON(t, must[*Plan](t)(again.Record("", nil))); again.ready() != nil || again.Digest() != p.Digest() || len(p.Digest()) != 64 {
		t.Errorf("%q, not %q", again.Digest(), p.Digest())
	}
	seen := map[string]string{p.Digest(): "the plan"}
	for what, other := range map[string]*Plan{
		"a seed":    plan(t, `"jobs": [{"kinds": ["lock"], "seeds": [2]}]`),
		"a unit":    plan(t, `"jobs": [{"kinds": ["lock"]}], "unit": 7`),
		"a program": must[*Plan](t)(p.Record("x", nil)),
		"a failure": must[*Plan](t)(p.Record("", []Known{{Counterexample: &sim.Counterexample{}}})),
	} {
		if before, twice := seen[other.Digest()]; twice {
			t.Errorf("%s has the digest of %s", what, before)
		}
		seen[other.Digest()] = what
	}
}

// A plan comes from a file, whose name is in errors.
func TestReadPlan(t *testing.T) {
	name := filepath.Join(t.TempDir(), "plan.json")
	write := func(text string) {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(planBegin + `"jobs": [{}], "duration": "1h30m", "unit_limit": "20s"}`)
	p := must[*Plan](t)(ReadPlan(t.Context(), name))
	if time.Duration(p.Duration) != 90*time.Minute || time.Duration(p.Limit) != 20*time.Second || p.Tries != 3 ||
		p.Memory != 2048 || p.Units() != 0 {
		t.Errorf("%s", asJSON(t, p))
	}
	write(`{`)
	if _, err := ReadPlan(t.Context(), name); err == nil || !strings.HasPrefix(err.Error(), name+": line 1: ") {
		t.Error(err)
	}
}
