package campaign

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
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

	// Canary is a known bug that must be found at its known rate; default "canary", "none" for none.
	Canary string `json:"canary,omitempty"`

	// What follows is recorded when a campaign begins, and not written by people.

	Program string  `json:"program,omitempty"` // SHA-256 of the only program that may run it
	Known   []Known `json:"known,omitempty"`   // failures of earlier nights, which are run again first

	list   []Job // of [Plan.ready]
	digest string
}

// The defaults of a plan and of its groups; those of a group are those of torture run.
const (
	EpisodesDefault = 10_000
	perUnitDefault  = 1_000
	limitDefault    = Duration(10 * time.Minute)
	memoryDefault   = 2048
	triesDefault    = 3
	canaryDefault   = "canary"
	clientsDefault  = 3
	opsDefault      = 4
)

// CanaryEpisodes is how many episodes a canary is run for, whatever the plan says: enough for its rate to be known.
const CanaryEpisodes = 6_400

// The limits of a plan. Package sim numbers episodes below episodesMax.
const (
	planMax     = 64 << 20 // bytes
	jobsMax     = 10_000
	unitsMax    = 1_000_000
	unitMax     = 1 << 20 // episodes
	episodesMax = min(1<<40, math.MaxInt>>1)
)

// Group says which recipes are run, and how: a job for each recipe, strategy and seed.
type Group struct {
	Kinds   []string `json:"kinds,omitempty"`   // default: all
	Recipes []string `json:"recipes,omitempty"` // names of them; "all" (the default): all that are not broken on purpose
	Bugs    []string `json:"bugs,omitempty"`    // known bugs by their ids, or "all", instead of kinds and recipes
	// Strategies are those of [sim.Strategies]; default: mix. Strategy near begins with the choices of known failures of
	// the same kind; it has no job where there are none. A canary is run by strategy random.
	Strategies []string `json:"strategies,omitempty"`
	Seeds      []uint64 `json:"seeds,omitempty"`   // default: 1
	Faults     string   `json:"faults,omitempty"`  // as for --faults, such as all,-wrap; default: all. A known bug has its own
	Clients    int      `json:"clients,omitempty"` // default: 3. A known bug has its own
	Ops        int      `json:"ops,omitempty"`     // default: 4
	Exact      bool     `json:"exact,omitempty"`   // see package sim
	Wire       bool     `json:"wire,omitempty"`    // with go-zookeeper's own client
}

// Job is one campaign of package sim. Nothing in it is left to a default.
type Job struct {
	Kind     string `json:"kind"`
	Recipe   string `json:"recipe"`
	Bug      string `json:"bug,omitempty"`    // the id of a known bug: it is to be found
	Canary   bool   `json:"canary,omitempty"` // … at its known rate
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
	if _, more := in.Token(); err == nil && !errors.Is(more, io.EOF) {
		err = errors.New("something follows the plan: a file has one")
	}
	if err != nil {
		return nil, inLine(text, err)
	}
	return p, p.ready()
}

// unknownField is how encoding/json says that a field is unknown.
var unknownField = regexp.MustCompile(`^json: unknown field ("[^"]*")$`)

// gone are fields that plans had, and what to write instead.
var gone = map[string]string{
	`"animals"`: `write "bugs"`, `"go"`: "build the command with the version of Go that you want, and start a campaign with it",
	`"main"`:   "start the campaign with the command that has your kinds: see command.Main",
	`"shares"`: "use torture prove", `"at_most"`: "use torture prove", `"plain"`: "use torture prove",
}

// inLine adds to an error the line of the plan in which it is.
func inLine(text []byte, err error) error {
	offset := len(text)
	syntax, typed := new(json.SyntaxError), new(json.UnmarshalTypeError)
	switch field := unknownField.FindStringSubmatch(err.Error()); {
	case field != nil:
		offset = bytes.Index(text, []byte(field[1]))
		err = fmt.Errorf("unknown field %s: %s", field[1], cmp.Or(gone[field[1]], "see docs/campaign.md for those of a plan"))
	case errors.As(err, &syntax):
		offset, err = int(syntax.Offset), fmt.Errorf("this is not JSON: %w", err)
	case errors.As(err, &typed):
		offset, err = int(typed.Offset), fmt.Errorf("%s: a %s does not belong here", typed.Field, typed.Value)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		err = errors.New("the file is cut off here")
	}
	return fmt.Errorf("line %d: %w", 1+bytes.Count(text[:max(offset, 0)], []byte("\n")), err)
}

// ready checks the plan, fills in its defaults, and lists its jobs. It is called for every plan before any other method.
func (p *Plan) ready() (err error) {
	if err := p.check(); err != nil {
		return err
	}
	if p.Duration == 0 {
		p.Episodes = cmp.Or(p.Episodes, EpisodesDefault)
	}
	p.PerUnit, p.Limit, p.Memory = cmp.Or(p.PerUnit, perUnitDefault), cmp.Or(p.Limit, limitDefault), cmp.Or(p.Memory, memoryDefault)
	p.Tries, p.Canary = cmp.Or(p.Tries, triesDefault), cmp.Or(p.Canary, canaryDefault)
	if p.list, err = p.resolve(); err != nil {
		return err
	}
	text, err := json.Marshal([]any{p, p.list})
	p.digest = fmt.Sprintf("%x", sha256.Sum256(text))
	return err
}

// List returns the jobs: that of the canary first, then those of the groups in their order.
func (p *Plan) List() []Job { return p.list }

// Digest covers the plan and all that its defaults stand for: results of plans with different digests do not add up.
func (p *Plan) Digest() string { return p.digest }

// Record returns the plan as a campaign records it when it begins: with the program that may run it, and the failures
// that are run again first.
func (p *Plan) Record(program string, known []Known) (*Plan, error) {
	recorded := *p
	recorded.Program, recorded.Known = program, known
	return &recorded, recorded.ready()
}

// units is how many units a job has; [math.MaxInt]: as many as there is time for.
func (p *Plan) units(j Job) int {
	if j.Episodes == 0 {
		return math.MaxInt
	}
	return (j.Episodes-1)/p.PerUnit + 1
}

// Unit returns a unit by its number: known failures come first, then rounds in which each job has a turn, so that the
// first n units are fair to all. A job that has fewer units than others has none in later rounds: its numbers there are
// left out.
func (p *Plan) Unit(n int) (Unit, bool) {
	at := n - len(p.Known)
	switch {
	case n < 0 || len(p.list) == 0:
		return Unit{}, false
	case at < 0:
		return Unit{Number: n, Job: -1, Known: n}, true
	}
	j, round := p.list[at%len(p.list)], at/len(p.list)
	if round >= p.units(j) || round >= episodesMax/p.PerUnit {
		return Unit{}, false
	}
	u := Unit{Number: n, Job: at % len(p.list), Known: -1, From: round * p.PerUnit, Episodes: p.PerUnit}
	if j.Episodes > 0 {
		u.Episodes = min(u.Episodes, j.Episodes-u.From)
	}
	return u, true
}

// Each lists the units in the order of their numbers; of a plan with a duration they do not end.
func (p *Plan) Each() iter.Seq[Unit] {
	return func(yield func(Unit) bool) {
		rounds := 0
		for _, j := range p.list {
			rounds = max(rounds, min(p.units(j), episodesMax/p.PerUnit))
		}
		for n := range len(p.Known) + rounds*len(p.list) {
			if u, ok := p.Unit(n); ok && !yield(u) {
				return
			}
		}
	}
}

// Units returns how many units there are, 0 if as many as there is time for.
func (p *Plan) Units() int {
	n := len(p.Known)
	for _, j := range p.list {
		if j.Episodes == 0 {
			return 0
		}
		n += p.units(j)
	}
	return n
}

// exact reports whether a unit is run in exact mode.
func (p *Plan) exact(u Unit) bool {
	if u.Job >= 0 {
		return p.list[u.Job].Exact
	}
	return p.Known[u.Known].Counterexample.Exact
}

// repeatable reports whether a unit gives the same result again: over the wire that is not promised, see
// [world.WireNote].
func (p *Plan) repeatable(u Unit) bool {
	if u.Job >= 0 {
		return p.exact(u) || !p.list[u.Job].Wire
	}
	return p.exact(u) || !p.Known[u.Known].Counterexample.Wire
}

// resolve returns the jobs of the plan.
func (p *Plan) resolve() ([]Job, error) {
	list, err := p.canary()
	if err != nil {
		return nil, fmt.Errorf("canary: %w", err)
	}
	canaries := len(list)
	for i, g := range p.Jobs {
		jobs, err := p.ofGroup(g)
		if err == nil && len(list)+len(jobs) > jobsMax {
			err = errTooMany
		}
		if err != nil {
			return nil, fmt.Errorf("jobs[%d]: %w", i, err)
		}
		list = append(list, jobs...)
	}
	if len(list) == canaries {
		return nil, errors.New("there is no job: strategy near needs known failures of the same kind; add another strategy")
	}
	seen, units := map[Job]bool{}, 0
	for _, j := range list {
		if seen[j] {
			return nil, fmt.Errorf("jobs: this one is there twice, leave one out: %v", j)
		}
		seen[j] = true
		if n := p.units(j); n < math.MaxInt {
			units += n
		}
		if units > unitsMax {
			return nil, fmt.Errorf("episodes: they make more than %d units: write a larger unit, or fewer episodes", unitsMax)
		}
	}
	return list, nil
}

var errTooMany = fmt.Errorf("there are more than %d jobs: make several plans", jobsMax)

// check returns an error for fields that no plan can have.
func (p *Plan) check() error {
	for _, field := range []struct {
		name   string
		value  int64
		atMost int64
	}{
		{"episodes", int64(p.Episodes), episodesMax}, {"duration", int64(p.Duration), math.MaxInt64}, {"unit", int64(p.PerUnit), unitMax},
		{"unit_limit", int64(p.Limit), math.MaxInt64}, {"unit_memory", int64(p.Memory), 1 << 30}, {"tries", int64(p.Tries), 1000},
	} {
		if field.value < 0 || field.value > field.atMost {
			return fmt.Errorf("%s: %d is impossible: write more than 0, and at most %d, or leave it out", field.name, field.value, field.atMost)
		}
	}
	switch {
	case p.Format != PlanFormat:
		return fmt.Errorf("format: it is %q, and this version reads %q", p.Format, PlanFormat)
	case len(p.Jobs) == 0:
		return errors.New(`jobs: there are none: write "jobs": [{}] for all kinds and recipes`)
	case p.Episodes > 0 && p.Duration > 0:
		return errors.New("episodes and duration: only one can end the campaign: leave out the other")
	}
	for i, k := range p.Known {
		if k.Counterexample == nil {
			return fmt.Errorf("known[%d]: it has no counterexample: leave it out", i)
		}
	}
	return nil
}

// canary is the job of the plan's canary.
func (p *Plan) canary() ([]Job, error) {
	if p.Canary == "none" {
		return nil, nil
	}
	found, err := zoo.Find([]string{p.Canary})
	if err == nil && found[0].Rate == 0 {
		err = fmt.Errorf("%q has no known rate: write %q, or \"none\"", p.Canary, canaryDefault)
	}
	if err != nil {
		return nil, err
	}
	return p.jobsOf([]Job{ofBug(found[0])}, Group{})
}

// ofBug is a known bug as a job that says no more than what is run.
func ofBug(a zoo.KnownBug) Job {
	w := a.Broken()
	return Job{Kind: w.Name(), Recipe: w.Recipe(), Bug: a.ID, Canary: a.Rate > 0, Faults: a.Faults().String(), Clients: a.Clients}
}

// ofGroup returns the jobs of a group.
func (p *Plan) ofGroup(g Group) ([]Job, error) {
	for _, s := range g.Strategies {
		if s == "exhaustive" {
			return nil, errors.New("strategies: exhaustive searches all executions: use torture prove")
		}
		if err := sim.CheckStrategy(s); err != nil {
			return nil, fmt.Errorf("strategies: %w", err)
		}
	}
	switch {
	case g.Clients < 0 || g.Clients > 64 || g.Ops < 0 || g.Ops > 1000:
		return nil, fmt.Errorf("clients and ops: %d with %d are impossible: write 1 to 64 and 1 to 1000", g.Clients, g.Ops)
	case len(g.Bugs) > 0 && (len(g.Kinds) > 0 || len(g.Recipes) > 0 || g.Faults != "" || g.Clients > 0):
		return nil, errors.New("bugs: they have their own kinds, recipes, faults and clients: leave these out, or make two groups")
	}
	of := p.bugs
	if len(g.Bugs) == 0 {
		of = recipesOf
	}
	subjects, err := of(g)
	if err != nil {
		return nil, err
	}
	return p.jobsOf(subjects, g)
}

// jobsOf returns the jobs of recipes: for each, each strategy and each seed of a group. They are counted first.
func (p *Plan) jobsOf(subjects []Job, g Group) (jobs []Job, err error) {
	strategies, seeds := orElse(g.Strategies, "mix"), orElse(g.Seeds, 1)
	if len(strategies) > jobsMax || len(seeds) > jobsMax || len(subjects)*len(strategies)*len(seeds) > jobsMax {
		return nil, errTooMany
	}
	for _, subject := range subjects {
		for _, strategy := range strategies {
			for _, seed := range seeds {
				if j := p.job(subject, g, strategy, seed); strategy != sim.Near || len(p.near(j)) > 0 {
					jobs = append(jobs, j)
				}
			}
		}
	}
	return jobs, nil
}

func (p *Plan) job(j Job, g Group, strategy string, seed uint64) Job {
	j.Strategy, j.Seed, j.Exact, j.Wire, j.Ops = strategy, seed, g.Exact, g.Wire, cmp.Or(g.Ops, opsDefault)
	switch {
	case j.Canary: // as [zoo.Hunter] does
		j.Strategy, j.Episodes = "random", CanaryEpisodes
	default:
		j.Episodes = p.Episodes
	}
	if j.Bug == "" {
		j.Clients = cmp.Or(g.Clients, clientsDefault)
	}
	return j
}

func orElse[T any](list []T, otherwise T) []T {
	if len(list) == 0 {
		return []T{otherwise}
	}
	return list
}

// allOfThem stands for all recipes, or all known bugs.
const allOfThem = "all"

// recipesOf are the recipes of a group, as jobs that say no more than what is run.
func recipesOf(g Group) (found []Job, err error) {
	faults, err := world.ParseFaults(cmp.Or(g.Faults, "all"))
	if err != nil {
		return nil, fmt.Errorf("faults: %w", err)
	}
	used := map[string]bool{allOfThem: true}
	for _, name := range g.kinds() {
		k, err := workload.KindNamed(name)
		if err != nil {
			return nil, fmt.Errorf("kinds: %w", err)
		}
		before := len(found)
		for _, e := range k.Recipes {
			if g.wants(e.Recipe) {
				used[e.Recipe] = true
				found = append(found, Job{Kind: k.Name, Recipe: e.Recipe, Faults: faults.String()})
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

// kinds are the names of the kinds of a group.
func (g *Group) kinds() (names []string) {
	if len(g.Kinds) > 0 {
		return g.Kinds
	}
	for _, k := range workload.Kinds() {
		names = append(names, k.Name)
	}
	return names
}

// wants reports whether a recipe belongs to a group.
func (g *Group) wants(recipe string) bool {
	if slices.Contains(g.Recipes, recipe) {
		return true
	}
	onPurpose := strings.HasPrefix(recipe, "published/") || recipe == "unfenced"
	return !onPurpose && (len(g.Recipes) == 0 || slices.Contains(g.Recipes, allOfThem))
}

// bugs are the known bugs of a group. "all" leaves out the plan's canary, which has a job already, and those that need
// exact mode unless it is asked for.
func (p *Plan) bugs(g Group) (found []Job, err error) {
	var bugs []zoo.KnownBug
	if !slices.Contains(g.Bugs, allOfThem) {
		if bugs, err = zoo.Find(g.Bugs); err != nil {
			return nil, fmt.Errorf("bugs: %w", err)
		}
	} else {
		bugs = slices.DeleteFunc(append(zoo.KnownBugs(), zoo.Skipped()...), func(a zoo.KnownBug) bool {
			return a.Exact && !g.Exact || a.ID == p.Canary
		})
		slices.SortFunc(bugs, func(a, b zoo.KnownBug) int { return cmp.Compare(a.ID, b.ID) })
	}
	for _, a := range bugs {
		if a.Exact && !g.Exact {
			return nil, fmt.Errorf("bugs: %s shows in exact mode only: write \"exact\": true", a.ID)
		}
		found = append(found, ofBug(a))
	}
	return found, nil
}

// near are the choices of known failures with which the episodes of a job begin, if its strategy is near.
func (p *Plan) near(j Job) (all []world.Choices) {
	for _, k := range p.Known {
		c := k.Counterexample
		if j.Strategy == sim.Near && c.Workload == j.Kind && c.Exact == j.Exact && c.Wire == j.Wire && len(c.Choices) > 0 {
			all = append(all, c.Choices)
		}
	}
	return all
}

// String says in a line what a job is.
func (j Job) String() string {
	what := fmt.Sprintf("%s (%s)", j.Kind, j.Recipe)
	if j.Bug != "" {
		what += ", known bug " + j.Bug
	}
	what += fmt.Sprintf(", strategy %s, seed %d, faults %s", j.Strategy, j.Seed, j.Faults)
	if j.Exact {
		what += ", exact"
	}
	if j.Wire {
		what += ", wire"
	}
	return what
}
