package campaign

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/workload"
)

// What is wrong with a plan is said in a line, with what to do.
func TestWrongPlans(t *testing.T) {
	for fields, want := range map[string]string{
		`"jobs": [{}], "episods": 5`:                                   `unknown field "episods"`,
		`"jobs": [{"bugs": ["W1"]}]`:                                   `unknown field "bugs": torture zoo hunts known bugs`,
		`"jobs": [{"shares": 4}]`:                                      `unknown field "shares": use torture prove`,
		`"jobs": [{}], "main": "./own"`:                                `unknown field "main": start the campaign with the command`,
		`"jobs": {}`:                                                   `cannot unmarshal object into Go struct field Plan.jobs`,
		`"jobs": [{}], "episodes": "5"`:                                `cannot unmarshal string into Go struct field Plan.episodes`,
		`"jobs": [{}], "duration": "8 hours"`:                          `"8 hours" is not a duration: write it as 30s, 10m or 8h`,
		`"jobs": [{}],, "episodes": 5`:                                 `it is no plan as JSON: invalid character ','`,
		`"jobs": []`:                                                   `jobs: there are none: write "jobs": [{}]`,
		`"jobs": [{}], "episodes": -1`:                                 `episodes: -1 is impossible`,
		`"jobs": [{}], "episodes": 5, "duration": "1h"`:                `episodes and duration: only one can end the campaign`,
		`"jobs": [{}], "duration": "-1h"`:                              `duration: -3600000000000 is impossible`,
		`"jobs": [{}], "unit": 9999999`:                                `unit: 9999999 is impossible`,
		`"jobs": [{}], "known": [{"id": "x"}]`:                         `known and program: only a campaign itself writes them`,
		`"jobs": [{}], "canary": "W1"`:                                 `canary: "W1" is not possible: write "none"`,
		`"jobs": [{"kinds": ["look"]}]`:                                `jobs[0]: kinds: unknown workload "look"`,
		`"jobs": [{"recipes": ["mine"]}]`:                              `jobs[0]: recipes: "mine" is unknown`,
		`"jobs": [{"kinds": ["queue"], "recipes": ["unfenced"]}]`:      `jobs[0]: recipes: queue has none of unfenced`,
		`"jobs": [{"strategies": ["rnd"]}]`:                            `strategies: unknown strategy "rnd"`,
		`"jobs": [{"strategies": ["near"]}]`:                           `use torture run --strategy near`,
		`"jobs": [{"faults": "gravity"}]`:                              `faults: unknown fault "gravity"`,
		`"jobs": [{"clients": 65}]`:                                    `clients and ops: 65 with 0 are impossible`,
		`"jobs": [{"kinds": ["lock"]}, {"recipes": ["ours"]}]`:         `jobs[1]: this one is there twice, leave one out: lock (ours), strategy mix`,
		`"jobs": [{"seeds": [` + strings.Repeat("1,", 20_000) + `1]}]`: `there are more than 10000 jobs`,
		`"jobs": [{}], "episodes": 549755813888, "unit": 1`:            `episodes: they make more than 1000000 units: write a larger unit`,
	} {
		_, err := ParsePlan([]byte("{\n\"format\": \"zktorture plan 1\", \"name\": \"x\",\n" + fields + "}"))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.100s: %v\nwanted: %s", fields, err, want)
		}
	}
	for text, want := range map[string]string{
		``:                              `it is no plan as JSON: EOF`,
		`{"format": "v2", "jobs":[{}]}`: `format: it is "v2", and this version reads "zktorture plan 1"`,
		`{"format": "zktorture plan 1", "jobs": [{}]} {}`: `something follows the plan`,
	} {
		if _, err := ParsePlan([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v\nwanted: %s", text, err, want)
		}
	}
}

// The jobs of a plan: defaults are resolved, and the canary comes first.
func TestJobs(t *testing.T) {
	canary := Job{Kind: "lock", Recipe: "zoo/canary", Canary: true, Strategy: "random", Seed: 1,
		Episodes: CanaryEpisodes, Faults: "none", Clients: 3, Ops: 4}
	ours := Job{Kind: "queue", Recipe: "ours", Strategy: "mix", Seed: 1, Episodes: 10_000, Faults: "all", Clients: 3, Ops: 4}
	for fields, want := range map[string][]Job{
		`"jobs": [{"kinds": ["queue"], "recipes": ["ours"]}]`: {canary, ours},
		`"jobs": [{"kinds": ["queue"], "recipes": ["ours"], "strategies": ["pos"], "seeds": [7, 8], "wire": true,
			"faults": "loss,crash", "clients": 2, "ops": 1}], "duration": "8h", "canary": "none"`: {
			{Kind: "queue", Recipe: "ours", Strategy: "pos", Seed: 7, Faults: "loss,crash", Clients: 2, Ops: 1, Wire: true},
			{Kind: "queue", Recipe: "ours", Strategy: "pos", Seed: 8, Faults: "loss,crash", Clients: 2, Ops: 1, Wire: true},
		},
	} {
		if got := plan(t, fields).list; !slices.Equal(got, want) {
			t.Errorf("%s:\n%v\nnot\n%v", fields, asJSON(t, got), asJSON(t, want))
		}
	}
}

// Without names a plan has all recipes that are not broken on purpose.
func TestAllJobs(t *testing.T) {
	want := slices.DeleteFunc(workload.Entries(), func(e workload.Entry) bool {
		return strings.HasPrefix(e.Recipe, "published/") || e.Recipe == "unfenced"
	})
	if jobs := plan(t, `"jobs": [{}]`).list[1:]; len(jobs) != len(want) || len(jobs) < 12 {
		t.Errorf("%d jobs for %d recipes", len(jobs), len(want))
	}
}

// The units of a plan are pieces of its jobs, each episode in one, and rounds are fair to all jobs.
func TestUnits(t *testing.T) {
	p := plan(t, `"jobs": [{"kinds": ["lock", "queue"], "recipes": ["ours"]}], "episodes": 2500, "unit": 1000`)
	p = must[*Plan](t)(p.Record("", []Known{{Counterexample: &sim.Counterexample{}}}))
	next, turns, last := make([]int, 3), make([]int, 3), -1
	for n := range p.Units() {
		u, ok := p.Unit(n)
		if !ok || u.Number != n {
			t.Fatalf("unit %d is %+v", n, u)
		}
		last = n
		if u.Job < 0 {
			continue
		}
		if u.From != next[u.Job] || u.Episodes < 1 || u.Job > 0 && turns[u.Job] > slices.Min(turns[1:]) {
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

// The digest is of what a plan stands for: the same when defaults are written down, and in a recorded plan that comes from
// a file, and another when anything else is.
func TestDigest(t *testing.T) {
	p := plan(t, `"jobs": [{"kinds": ["lock"]}]`)
	again := plan(t, `"jobs": [{"kinds": ["lock"]}], "episodes": 10000, "tries": 3`)
	if again = throughJSON(t, must[*Plan](t)(again.Record("", nil))); again.ready() != nil || again.digest != p.digest || len(p.digest) != 64 {
		t.Errorf("%q, not %q", again.digest, p.digest)
	}
	seen := map[string]string{p.digest: "the plan"}
	for what, other := range map[string]*Plan{
		"a seed":    plan(t, `"jobs": [{"kinds": ["lock"], "seeds": [2]}]`),
		"a unit":    plan(t, `"jobs": [{"kinds": ["lock"]}], "unit": 7`),
		"a program": must[*Plan](t)(p.Record("x", nil)),
		"a failure": must[*Plan](t)(p.Record("", []Known{{Counterexample: &sim.Counterexample{}}})),
	} {
		if before, twice := seen[other.digest]; twice {
			t.Errorf("%s has the digest of %s", what, before)
		}
		seen[other.digest] = what
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
	if _, err := ReadPlan(t.Context(), name); err == nil || !strings.HasPrefix(err.Error(), name+": it is no plan") {
		t.Error(err)
	}
}
