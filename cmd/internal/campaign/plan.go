package campaign

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/zktorture/zktorture/internal/wholefile"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
	"github.com/zktorture/zktorture/zoo"
)

// PlanFormat is the first field of every plan.
const PlanFormat = "zktorture plan 1"

// Plan is a campaign over many recipes, as its file says it; [ReadPlan] reads one. It must not change once any of its
// methods has been called.
type Plan struct {
	Format string  `json:"format"` // [PlanFormat]
	Name   string  `json:"name"`
	Jobs   []Group `json:"jobs"`

	Episodes int      `json:"episodes,omitempty"` // of each job; default 10,000 …
	Duration Duration `json:"duration,omitempty"` // … or how long the whole campaign may take: all jobs in turns
	PerUnit  int      `json:"unit,omitempty"`     // episodes of a unit; default 1,000

	Limit  Duration `json:"unit_limit,omitempty"`  // how long a unit may take before it counts as frozen; default 10m
	Memory int      `json:"unit_memory,omitempty"` // MB that its process may take; default 2048
	Tries  int      `json:"tries,omitempty"`       // of a unit, before it is unknown; default 3

	Canary string `json:"canary,omitempty"` // "none": there is none

	// What follows is recorded when a campaign begins, and not written by people.

	Program string  `json:"program,omitempty"` // SHA-256 of the only program that may run it
	Known   []Known `json:"known,omitempty"`   // failures of earlier nights, which are run again first

	// What follows is of [Plan.ready].

	list   []Job  // that of the canary first, then those of the groups in their order
	digest string // of the plan and all that its defaults stand for: results of plans with different digests do not add up
}

// limitDefault is how long a unit may take.
const limitDefault = Duration(10 * time.Minute)

// The canary is a known bug of the zoo that must be found at its known rate. It is run for so many episodes, whatever the
// plan says: enough for its rate to be known.
const (
	canaryID       = "canary"
	CanaryEpisodes = 6_400
)

// The limits of a plan. Package sim numbers episodes below episodesMax.
const (
	planMax     = 64 << 20 // bytes
	jobsMax     = 10_000
	unitsMax    = 1_000_000
	episodesMax = min(1<<40, math.MaxInt>>1)
)

// Group says which recipes are run, and how: a job for each recipe, strategy and seed.
type Group struct {
	Kinds      []string `json:"kinds,omitempty"`      // default: all
	Recipes    []string `json:"recipes,omitempty"`    // names of them; default: all that are not broken on purpose
	Strategies []string `json:"strategies,omitempty"` // of [sim.Strategies]; default: mix
	Seeds      []uint64 `json:"seeds,omitempty"`      // default: 1
	Faults     string   `json:"faults,omitempty"`     // as for --faults, such as all,-wrap; default: all
	Clients    int      `json:"clients,omitempty"`    // default: 3
	Ops        int      `json:"ops,omitempty"`        // default: 4
	Exact      bool     `json:"exact,omitempty"`      // see package sim
	Wire       bool     `json:"wire,omitempty"`       // with go-zookeeper's own client
}

// Job is one campaign of package sim. Nothing in it is left to a default.
type Job struct {
	Kind     string `json:"kind"`
	Recipe   string `json:"recipe"`
	Canary   bool   `json:"canary,omitempty"`
	Strategy string `json:"strategy"`
	Seed     uint64 `json:"seed"`
	Episodes int    `json:"episodes,omitempty"` // 0: as many as there is time for
	Faults   string `json:"faults"`
	Clients  int    `json:"clients"`
	Ops      int    `json:"ops"`
	Exact    bool   `json:"exact,omitempty"`
	Wire     bool   `json:"wire,omitempty"`
}

// Known is a failure that an earlier night has found.
type Known struct {
	ID             string              `json:"id"`
	Counterexample *sim.Counterexample `json:"counterexample"`
}

// Unit is a piece of a campaign: some episodes of a job, or a known failure that is run again.
type Unit struct {
	Number   int `json:"number"`
	Job      int `json:"job"`   // its place in the plan's list of jobs; -1: a known failure
	Known    int `json:"known"` // its place in the plan's list of known failures; -1: a piece of a job
	From     int `json:"from"`  // the first episode
	Episodes int `json:"episodes"`
}

// Duration is a duration that JSON has as a text, such as "8h".
type Duration time.Duration

// MarshalText writes a duration as [time.Duration.String] does.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads what [time.ParseDuration] reads.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%q is not a duration: write it as 30s, 10m or 8h", text)
	}
	*d = Duration(parsed)
	return nil
}

// ReadPlan reads the file of a plan and checks it. The error says in a line what is wrong, and what to do. A pipe is
// waited for until the context ends.
func ReadPlan(ctx context.Context, path string) (*Plan, error) {
	text, err := wholefile.Read(ctx, path, planMax)
	if err != nil {
		return nil, err
	}
	p, err := ParsePlan(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

// ParsePlan is [ReadPlan] for the content of a file.
func ParsePlan(text []byte) (*Plan, error) {
	p, in := &Plan{}, json.NewDecoder(bytes.NewReader(text))
	in.DisallowUnknownFields()
	err := in.Decode(p)
	unknown := unknownField.FindStringSubmatch(fmt.Sprint(err))
	switch {
	case unknown != nil:
		return nil, fmt.Errorf("unknown field %s: %s", unknown[1], cmp.Or(instead[unknown[1]], "see docs/campaign.md for those of a plan"))
	case err != nil:
		return nil, fmt.Errorf("it is no plan as JSON: %w", err)
	case in.More():
		return nil, errors.New("something follows the plan: a file has one")
	case p.Known != nil || p.Program != "":
		return nil, errors.New("known and program: only a campaign itself writes them: leave them out")
	}
	return p, p.ready()
}

// unknownField is how encoding/json says that a field is unknown.
var unknownField = regexp.MustCompile(`^json: unknown field ("[^"]*")$`)

// instead says what to use in the place of fields that plans had.
var instead = map[string]string{
	`"animals"`: "torture zoo hunts known bugs", `"bugs"`: "torture zoo hunts known bugs",
	`"go"`:     "build the command with the version of Go that you want, and start a campaign with it",
	`"main"`:   "start the campaign with the command that has your kinds: see command.Main",
	`"shares"`: "use torture prove", `"at_most"`: "use torture prove", `"plain"`: "use torture prove",
}

// ready checks the plan, fills in its defaults, and lists its jobs. It is called for every plan before any other method.
func (p *Plan) ready() (err error) {
	if err := p.check(); err != nil {
		return err
	}
	if p.Duration == 0 {
		p.Episodes = cmp.Or(p.Episodes, 10_000)
	}
	p.PerUnit, p.Limit, p.Memory, p.Tries = cmp.Or(p.PerUnit, 1_000), cmp.Or(p.Limit, limitDefault), cmp.Or(p.Memory, 2048), cmp.Or(p.Tries, 3)
	if p.list, err = p.resolve(); err != nil {
		return err
	}
	if p.Units() > unitsMax {
		return fmt.Errorf("episodes: they make more than %d units: write a larger unit, or fewer episodes", unitsMax)
	}
	text, err := json.Marshal([]any{p, p.list})
	p.digest = fmt.Sprintf("%x", sha256.Sum256(text))
	return err
}

// check returns an error for fields that no plan can have.
func (p *Plan) check() error {
	switch {
	case p.Format != PlanFormat:
		return fmt.Errorf("format: it is %q, and this version reads %q", p.Format, PlanFormat)
	case len(p.Jobs) == 0:
		return errors.New(`jobs: there are none: write "jobs": [{}] for all kinds and recipes`)
	case p.Episodes > 0 && p.Duration > 0:
		return errors.New("episodes and duration: only one can end the campaign: leave out the other")
	case p.Canary != "" && p.Canary != "none":
		return fmt.Errorf(`canary: %q is not possible: write "none", or leave it out`, p.Canary)
	}
	for _, field := range []struct {
		name          string
		value, atMost int64
	}{
		{"episodes", int64(p.Episodes), episodesMax}, {"duration", int64(p.Duration), math.MaxInt64}, {"unit", int64(p.PerUnit), 1 << 20},
		{"unit_limit", int64(p.Limit), math.MaxInt64}, {"unit_memory", int64(p.Memory), 1 << 30}, {"tries", int64(p.Tries), 1000},
	} {
		if field.value < 0 || field.value > field.atMost {
			return fmt.Errorf("%s: %d is impossible: write more than 0, and at most %d, or leave it out", field.name, field.value, field.atMost)
		}
	}
	return nil
}

// Record returns the plan as a campaign records it when it begins: with the program that may run it, and the failures
// that are run again first.
func (p *Plan) Record(program string, known []Known) (*Plan, error) {
	recorded := *p
	recorded.Program, recorded.Known = program, known
	return &recorded, recorded.ready()
}

// Unit returns a unit by its number: known failures come first, then the canary, then rounds in which each job has a turn,
// so that the first n units are fair to all.
func (p *Plan) Unit(n int) (Unit, bool) {
	at, jobs, before := n-len(p.Known), p.list, 0
	if n < 0 {
		return Unit{}, false
	}
	if at < 0 {
		return Unit{Number: n, Job: -1, Known: n}, true
	}
	if jobs[0].Canary {
		if units := p.units(jobs[0]); at < units {
			jobs = jobs[:1]
		} else {
			at, jobs, before = at-units, jobs[1:], 1
		}
	}
	u := Unit{Number: n, Job: before + at%len(jobs), Known: -1}
	round := at / len(jobs)
	if j := p.list[u.Job]; round < p.units(j) {
		u.From = round * p.PerUnit
		u.Episodes = min(p.PerUnit, cmp.Or(j.Episodes, episodesMax)-u.From)
	}
	return u, u.Episodes > 0
}

// units is how many units a job has at most.
func (p *Plan) units(j Job) int { return (cmp.Or(j.Episodes, episodesMax)-1)/p.PerUnit + 1 }

// Units returns how many units there are, 0 if as many as there is time for.
func (p *Plan) Units() int {
	if p.Duration > 0 {
		return 0
	}
	n := len(p.Known)
	for _, j := range p.list {
		n += p.units(j)
	}
	return n
}

// mode reports whether a unit is run in exact mode, and over the wire.
func (p *Plan) mode(u Unit) (exact, wire bool) {
	if u.Job < 0 {
		c := p.Known[u.Known].Counterexample
		return c.Exact, c.Wire
	}
	return p.list[u.Job].Exact, p.list[u.Job].Wire
}

// resolve returns the jobs of the plan.
func (p *Plan) resolve() (list []Job, err error) {
	if p.Canary == "" {
		a, err := canary()
		if err != nil {
			return nil, err
		}
		w := a.Broken()
		list = append(list, Job{Kind: w.Name(), Recipe: w.Recipe(), Canary: true, Strategy: "random", Seed: 1, Episodes: CanaryEpisodes,
			Faults: a.Faults().String(), Clients: a.Clients, Ops: 4})
	}
	seen := map[Job]bool{}
	for i, g := range p.Jobs {
		jobs, err := g.jobs(p.Episodes)
		if err == nil && len(list)+len(jobs) > jobsMax {
			err = errTooMany
		}
		for _, j := range jobs {
			if seen[j] {
				err = fmt.Errorf("this one is there twice, leave one out: %v", j)
			}
			seen[j] = true
		}
		if err != nil {
			return nil, fmt.Errorf("jobs[%d]: %w", i, err)
		}
		list = append(list, jobs...)
	}
	return list, nil
}

var errTooMany = fmt.Errorf("there are more than %d jobs: make several plans", jobsMax)

// canary is the known bug that has to be found at its rate.
func canary() (zoo.KnownBug, error) {
	found, err := zoo.Find([]string{canaryID})
	if err != nil {
		return zoo.KnownBug{}, err
	}
	return found[0], nil
}

// jobs returns the jobs of a group: for each recipe, each strategy and each seed. They are counted first.
func (g Group) jobs(episodes int) (jobs []Job, err error) {
	for _, s := range g.Strategies {
		if s == sim.Near {
			return nil, errors.New("strategies: use torture run --strategy near --near FILE")
		}
		if err := sim.CheckStrategy(s); err != nil {
			return nil, fmt.Errorf("strategies: %w", err)
		}
	}
	if g.Clients < 0 || g.Clients > 64 || g.Ops < 0 || g.Ops > 1000 {
		return nil, fmt.Errorf("clients and ops: %d with %d are impossible: write 1 to 64 and 1 to 1000", g.Clients, g.Ops)
	}
	faults, err := world.ParseFaults(cmp.Or(g.Faults, "all"))
	if err != nil {
		return nil, fmt.Errorf("faults: %w", err)
	}
	recipes, err := g.entries()
	if err != nil {
		return nil, err
	}
	if len(g.Strategies) == 0 {
		g.Strategies = []string{"mix"}
	}
	if len(g.Seeds) == 0 {
		g.Seeds = []uint64{1}
	}
	if len(recipes)*len(g.Strategies)*len(g.Seeds) > jobsMax {
		return nil, errTooMany
	}
	for _, r := range recipes {
		for _, strategy := range g.Strategies {
			for _, seed := range g.Seeds {
				jobs = append(jobs, Job{Kind: r.kind, Recipe: r.recipe, Strategy: strategy, Seed: seed, Episodes: episodes, Faults: faults.String(),
					Clients: cmp.Or(g.Clients, 3), Ops: cmp.Or(g.Ops, 4), Exact: g.Exact, Wire: g.Wire})
			}
		}
	}
	return jobs, nil
}

// entry is a recipe by its names.
type entry struct{ kind, recipe string }

// entries are the recipes of a group.
func (g Group) entries() (found []entry, err error) {
	kinds := workload.Kinds()
	if len(g.Kinds) > 0 {
		kinds = nil
	}
	for _, name := range g.Kinds {
		k, err := workload.KindNamed(name)
		if err != nil {
			return nil, fmt.Errorf("kinds: %w", err)
		}
		kinds = append(kinds, k)
	}
	used := map[string]bool{}
	for _, k := range kinds {
		before := len(found)
		for _, e := range k.Recipes {
			onPurpose := strings.HasPrefix(e.Recipe, "published/") || e.Recipe == "unfenced"
			if slices.Contains(g.Recipes, e.Recipe) || len(g.Recipes) == 0 && !onPurpose {
				used[e.Recipe] = true
				found = append(found, entry{k.Name, e.Recipe})
			}
		}
		if len(found) == before && len(g.Kinds) > 0 {
			return nil, fmt.Errorf("recipes: %s has none of %s: see torture list", k.Name, strings.Join(g.Recipes, ", "))
		}
	}
	for _, r := range g.Recipes {
		if !used[r] {
			return nil, fmt.Errorf("recipes: %q is unknown: see torture list for those of each kind", r)
		}
	}
	return found, nil
}

// String says in a line what a job is.
func (j Job) String() string {
	what := fmt.Sprintf("%s (%s), strategy %s, seed %d, faults %s", j.Kind, j.Recipe, j.Strategy, j.Seed, j.Faults)
	if j.Canary {
		what = fmt.Sprintf("the canary: %s (%s), strategy %s", j.Kind, j.Recipe, j.Strategy)
	}
	if j.Exact {
		what += ", exact"
	}
	if j.Wire {
		what += ", wire"
	}
	return what
}
