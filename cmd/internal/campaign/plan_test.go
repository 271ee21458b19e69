package campaign_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zktorture/zktorture/cmd/internal/campaign"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// What is wrong with a plan is said in a line, with what to do; the line of the file is named where there is one.
func TestWrongPlans(t *testing.T) {
	for fields, want := range map[string]string{
		`"jobs": [{}], "episods": 5`:                                `line 3: unknown field "episods" in the plan: there are format`,
		`"jobs": [{` + "\n" + `"recipe": "ours"}]`:                  `line 4: unknown field "recipe" in jobs[0]: there are`,
		`"jobs": [{"clients": 2, "clients": 3}]`:                    `line 3: clients is there twice`,
		`"Jobs": [{}]`:                                              `unknown field "Jobs"`,
		`"jobs": {}`:                                                `jobs: a list: […] is wanted`,
		`"jobs": [3]`:                                               `jobs[0]: an object: {…} is wanted`,
		`"jobs": [{}], "episodes": "5"`:                             `episodes: it is a string, and a whole number is wanted`,
		`"jobs": [{"kinds": "lock"}]`:                               `kinds: it is a string, and a list: […] is wanted`,
		`"jobs": [{"seeds": [-1]}]`:                                 `seeds: it is a number -1, and a list`,
		`"jobs": [{}], "duration": "8 hours"`:                       `"8 hours" is not a duration: write it as 30s, 10m or 8h`,
		`"jobs": [{}],, "episodes": 5`:                              `this is not JSON`,
		`"jobs": []`:                                                `jobs: there are none: write "jobs": [{}]`,
		`"name": "no jobs"`:                                         `name is there twice`,
		`"jobs": [{}], "episodes": -1`:                              `episodes: -1 is impossible`,
		`"jobs": [{}], "episodes": 5, "duration": "1h"`:             `episodes and duration: only one can end the campaign`,
		`"jobs": [{}], "duration": "-1h"`:                           `duration: -1h0m0s is negative`,
		`"jobs": [{}], "unit": -5`:                                  `unit: -5 episodes are impossible`,
		`"jobs": [{}], "unit": 9999999`:                             `unit: 9999999 episodes are impossible`,
		`"jobs": [{}], "unit_limit": "-1s"`:                         `unit_limit: -1s is negative`,
		`"jobs": [{}], "unit_memory": -1`:                           `unit_memory: -1 MB is negative`,
		`"jobs": [{}], "known": [{"id": "x"}]`:                      `known[0]: it has no counterexample`,
		`"jobs": [{}], "tries": -1`:                                 `tries: -1 is negative`,
		`"jobs": [{}], "go": ["1.26"]`:                              `go: "1.26" is not a version`,
		`"jobs": [{}], "go": ["go1.26.8", "go1.26.8"]`:              `go: "go1.26.8" is there twice`,
		`"jobs": [{}], "canary": "W1"`:                              `canary: "W1" has no known rate: write "canary"`,
		`"jobs": [{}], "canary": "X99"`:                             `canary: no known bug is called "X99"`,
		`"jobs": [{"kinds": ["look"]}]`:                             `jobs[0]: kinds: unknown workload "look"`,
		`"jobs": [{"recipes": ["mine"]}]`:                           `jobs[0]: recipes: "mine" is unknown`,
		`"jobs": [{"kinds": ["queue"], "recipes": ["unfenced"]}]`:   `jobs[0]: recipes: queue has none of unfenced`,
		`"jobs": [{}, {"animals": ["X99"]}]`:                        `jobs[1]: animals: no known bug is called "X99"`,
		`"jobs": [{"animals": ["W1"], "kinds": ["lock"]}]`:          `animals: they have their kinds and recipes`,
		`"jobs": [{"animals": ["W1"], "clients": 2}]`:               `animals: they have their own faults and clients`,
		`"jobs": [{"animals": ["` + exactAnimal(t) + `"]}]`:         `shows in exact mode only: write "exact": true`,
		`"jobs": [{"strategies": ["rnd"]}]`:                         `strategies: unknown strategy "rnd"`,
		`"jobs": [{"faults": "gravity"}]`:                           `faults: unknown fault "gravity"`,
		`"jobs": [{"clients": 65}]`:                                 `clients and ops: 65 with 0 are impossible`,
		`"jobs": [{"ops": -1}]`:                                     `clients and ops: 0 with -1 are impossible`,
		`"jobs": [{"shares": 4}]`:                                   `at_most, plain and shares are for strategy exhaustive`,
		`"jobs": [{"strategies": ["exhaustive"], "at_most": 7}]`:    `at_most: 7 is impossible`,
		`"jobs": [{"strategies": ["exhaustive"], "shares": -1}]`:    `shares: -1 is impossible`,
		`"jobs": [{"strategies": ["exhaustive"], "exact": true}]`:   `exhaustive goes neither with exact nor with wire`,
		`"jobs": [{"strategies": ["near"]}]`:                        `strategy near needs known failures`,
		`"jobs": [{"kinds": ["lock"]}, {"recipes": ["ours"]}]`:      `twice, leave one out: lock (ours), strategy mix`,
		`"jobs": [{"kinds": ["lock"]}, {"seeds": [1]}]`:             `this one is there twice`,
		`"jobs": [{"animals": ["canary"]}]`:                         `this one is there twice`,
		`"jobs": [{"animals": ["W1"], "strategies":["mix","mix"]}]`: `this one is there twice`,
		// What would fill the memory is counted before it is listed.
		`"jobs": [{"seeds": [` + strings.Repeat("1,", 200_000) + `1]}]`: `jobs[0]: jobs: there are more than 10000`,
		`"jobs": [{"strategies": [` + strings.Repeat(`"mix",`, 1000) + `"mix"], "seeds": [` + strings.Repeat("1,", 5000) +
			`1]}]`: `jobs[0]: jobs: there are more than 10000`,
		`"jobs": [{}` + strings.Repeat(`,{}`, 100_000) + `]`:                         `jobs: there are more than 10000`,
		`"jobs": [{}], "episodes": 549755813888, "unit": 1`:                          `episodes: they make more than 1000000 units: write a larger unit`,
		`"jobs": [{}], "resolved": [{"episodes": 1` + strings.Repeat("0", 18) + `}]`: `resolved[0]: 1000000000000000000 episodes`,
	} {
		_, err := campaign.ParsePlan([]byte("{\n\"format\": \"zktorture plan 1\", \"name\": \"x\",\n" + fields + "}"))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v\nwanted: %s", fields, err, want)
		}
	}
	for text, want := range map[string]string{
		``:                              `line 1: the plan: the file is cut off here`,
		`{"format": "x", "jobs": [{}`:   `line 1: jobs: the file is cut off here`,
		`[]`:                            `line 1: the plan: an object: {…} is wanted`,
		`{"format": "v2", "jobs":[{}]}`: `format: it is "v2", and this version reads "zktorture plan 1"`,
		`{"format": "zktorture plan 1", "jobs": [{}]} {}`: `something follows the plan`,
	} {
		if _, err := campaign.ParsePlan([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v\nwanted: %s", text, err, want)
		}
	}
}

// exactAnimal is the id of an animal that needs exact mode.
func exactAnimal(t *testing.T) string {
	t.Helper()
	for _, a := range animals() {
		if a.Exact {
			return a.ID
		}
	}
	t.Fatal("no animal needs exact mode")
	return ""
}

// The jobs of a plan: defaults are resolved, and the canary comes first.
func TestJobs(t *testing.T) {
	list := func(fields string) []campaign.Job { return must[[]campaign.Job](t)(plan(t, fields).List()) }
	canary := campaign.Job{Kind: "lock", Recipe: "zoo/canary", Animal: "canary", Canary: true, Strategy: "random", Seed: 1,
		Episodes: campaign.CanaryEpisodes, Faults: "none", Clients: 3, Ops: 4}
	ours := campaign.Job{Kind: "queue", Recipe: "ours", Strategy: "mix", Seed: 1, Episodes: 10_000, Faults: "all",
		Clients: 3, Ops: 4}
	with := func(j campaign.Job, change func(*campaign.Job)) campaign.Job { change(&j); return j }
	for fields, want := range map[string][]campaign.Job{
		`"jobs": [{"kinds": ["queue"], "recipes": ["ours"]}]`: {canary, ours},
		`"jobs": [{"kinds": ["queue"], "recipes": ["ours"], "strategies": ["pos", "exhaustive"], "seeds": [7, 8],
			"faults": "loss,crash", "clients": 2, "ops": 1}], "duration": "8h", "canary": "none"`: {
			with(ours, func(j *campaign.Job) { *j = small(*j, "pos", 7, 0, 0) }),
			with(ours, func(j *campaign.Job) { *j = small(*j, "pos", 8, 0, 0) }),
			with(ours, func(j *campaign.Job) { *j = small(*j, "exhaustive", 7, 1, 16) }),
			with(ours, func(j *campaign.Job) { *j = small(*j, "exhaustive", 8, 1, 16) }),
		},
		`"jobs": [{"kinds": ["queue"], "recipes": ["ours"], "wire": true}], "go": ["go1.25.1", "go1.26.8"], "episodes": 5`: {
			with(canary, func(j *campaign.Job) { j.Go = "go1.25.1" }),
			with(ours, func(j *campaign.Job) { j.Go, j.Wire, j.Episodes = "go1.25.1", true, 5 }),
			with(canary, func(j *campaign.Job) { j.Go = "go1.26.8" }),
			with(ours, func(j *campaign.Job) { j.Go, j.Wire, j.Episodes = "go1.26.8", true, 5 }),
		},
		`"jobs": [{"animals": ["canary"], "strategies": ["exhaustive", "pos"], "seeds": [4]}], "canary": "none"`: {
			with(canary, func(j *campaign.Job) { j.Seed = 4 }),
		},
	} {
		if got := list(fields); !slices.Equal(got, want) {
			t.Errorf("%s:\n%v\nnot\n%v", fields, asJSON(t, got), asJSON(t, want))
		}
	}
}

func small(j campaign.Job, strategy string, seed uint64, atMost, shares int) campaign.Job {
	j.Strategy, j.Seed, j.Episodes, j.Faults, j.Clients, j.Ops = strategy, seed, 0, "loss,crash", 2, 1
	j.AtMost, j.Shares = atMost, shares
	return j
}

// "All" are all recipes that are not broken on purpose, and all animals that can be found.
func TestAllJobs(t *testing.T) {
	p := plan(t, `"jobs": [{}, {"animals": ["all"]}, {"animals": ["all"], "exact": true}]`)
	var recipes, hunted, exact int
	for _, j := range must[[]campaign.Job](t)(p.List())[1:] {
		switch {
		case j.Animal == "" && (strings.HasPrefix(j.Recipe, "published/") || j.Recipe == "unfenced"):
			t.Errorf("%v is broken on purpose", j)
		case j.Animal == "":
			recipes++
		case j.Exact:
			exact++
		default:
			hunted++
		}
	}
	broken, needing := 3, 0
	for _, a := range animals() {
		if a.Exact {
			needing++
		}
	}
	if all := len(animals()) - 1; recipes != len(workload.Entries())-broken || hunted != all-needing || exact != all {
		t.Errorf("%d recipes, %d animals, %d in exact mode", recipes, hunted, exact)
	}
}

// A job of strategy near is there where a failure of the same kind is known.
func TestNearNeedsKnownFailures(t *testing.T) {
	p := plan(t, `"jobs": [{"kinds": ["lock", "queue"], "recipes": ["ours"], "strategies": ["mix", "near"]}]`)
	failure := &sim.Counterexample{Workload: "queue", Choices: world.Choices{1, 2}}
	known := []campaign.Known{{ID: "k", Counterexample: failure}}
	for recorded, want := range map[*campaign.Plan]int{
		must[*campaign.Plan](t)(p.Record(nil, nil)): 0, must[*campaign.Plan](t)(p.Record(nil, known)): 1,
	} {
		near := 0
		for i, j := range must[[]campaign.Job](t)(recorded.List()) {
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

// The digest is of what a plan stands for: it is the same when the defaults are written down, and in a recorded plan,
// and another when anything else is.
func TestDigest(t *testing.T) {
	p := plan(t, `"jobs": [{"kinds": ["lock"]}]`)
	recorded := must[*campaign.Plan](t)(p.Record(nil, nil))
	if again := throughJSON(t, recorded); again.Digest() != p.Digest() || len(p.Digest()) != 64 {
		t.Errorf("%q, not %q", again.Digest(), p.Digest())
	}
	seen := map[string]string{p.Digest(): "the plan"}
	for what, other := range map[string]*campaign.Plan{
		"a seed":    plan(t, `"jobs": [{"kinds": ["lock"], "seeds": [2]}]`),
		"a unit":    plan(t, `"jobs": [{"kinds": ["lock"]}], "unit": 7`),
		"a program": must[*campaign.Plan](t)(p.Record([]campaign.Program{{SHA256: "x"}}, nil)),
		"a failure": must[*campaign.Plan](t)(p.Record(nil, []campaign.Known{{Counterexample: &sim.Counterexample{}}})),
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
	write(`{"format": "zktorture plan 1", "name": "n", "jobs": [{}], "duration": "1h30m", "unit_limit": "20s"}`)
	p := must[*campaign.Plan](t)(campaign.ReadPlan(t.Context(), name))
	if time.Duration(p.Duration) != 90*time.Minute || p.UnitLimit() != 20*time.Second || p.UnitTries() != 3 ||
		p.UnitMemory() != 2048 || p.Units() != 0 {
		t.Errorf("%s", asJSON(t, p))
	}
	write(`{`)
	if _, err := campaign.ReadPlan(t.Context(), name); err == nil || !strings.HasPrefix(err.Error(), name+": line 1: ") {
		t.Error(err)
	}
	if _, err := campaign.ReadPlan(t.Context(), name+"x"); !os.IsNotExist(err) {
		t.Error(err)
	}
	if err := os.Truncate(name, 64<<20+1); err != nil {
		t.Fatal(err)
	}
	if _, err := campaign.ReadPlan(t.Context(), name); err == nil || !strings.Contains(err.Error(), "larger than 64 MB") {
		t.Error(err)
	}
	// A main of one's own knows kinds that this program does not.
	write(`{"format": "zktorture plan 1", "name": "n", "jobs": [{"kinds": ["own"]}], "main": "./own"}`)
	p = must[*campaign.Plan](t)(campaign.ReadPlan(t.Context(), name))
	if _, err := p.List(); err == nil || p.Digest() != "" {
		t.Errorf("%v, digest %q", err, p.Digest())
	}
}
