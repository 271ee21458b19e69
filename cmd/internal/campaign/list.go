package campaign

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
	"github.com/zktorture/zktorture/zoo"
)

// resolve checks the plan and returns its jobs.
func (p *Plan) resolve() ([]Job, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	list := p.Resolved
	if len(list) == 0 {
		var err error
		if list, err = p.list(); err != nil {
			return nil, err
		}
	}
	return list, p.checkUnits(list)
}

// list makes the jobs of the groups.
func (p *Plan) list() ([]Job, error) {
	list, err := p.canary()
	if err != nil {
		return nil, fmt.Errorf("canary: %w", err)
	}
	canaries := len(list)
	for i, g := range p.Jobs {
		jobs, err := p.ofGroup(g)
		if err != nil {
			return nil, fmt.Errorf("jobs[%d]: %w", i, err)
		}
		list = append(list, jobs...)
		if err := checkJobs(len(list), len(p.Go)); err != nil {
			return nil, fmt.Errorf("jobs[%d]: %w", i, err)
		}
	}
	if len(list) == canaries {
		return nil, errors.New("there is no job: strategy near needs known failures of the same kind; add another strategy")
	}
	return p.ofVersions(list)
}

// check returns an error for fields that no plan can have.
func (p *Plan) check() error {
	switch {
	case p.Format != PlanFormat:
		return fmt.Errorf("format: it is %q, and this version reads %q", p.Format, PlanFormat)
	case len(p.Jobs) == 0:
		return errors.New(`jobs: there are none: write "jobs": [{}] for all kinds and recipes`)
	case p.Episodes < 0 || p.Episodes > episodesMax:
		return fmt.Errorf("episodes: %d is impossible: write 1 or more, or leave it out", p.Episodes)
	case p.Duration < 0:
		return fmt.Errorf("duration: %v is negative: write how long it may take, such as \"8h\"", p.Duration)
	case p.Episodes > 0 && p.Duration > 0:
		return errors.New("episodes and duration: only one can end the campaign: leave out the other")
	case p.PerUnit < 0 || p.PerUnit > unitMax:
		return fmt.Errorf("unit: %d episodes are impossible: write 1 to %d, or leave it out", p.PerUnit, unitMax)
	case p.Limit < 0:
		return fmt.Errorf("unit_limit: %v is negative: write how long a unit may take, such as \"10m\"", p.Limit)
	case p.Memory < 0:
		return fmt.Errorf("unit_memory: %d MB is negative: write 1 or more, or leave it out", p.Memory)
	case p.Tries < 0:
		return fmt.Errorf("tries: %d is negative: write 1 or more, or leave it out", p.Tries)
	}
	for i, k := range p.Known {
		if k.Counterexample == nil {
			return fmt.Errorf("known[%d]: it has no counterexample: leave it out", i)
		}
	}
	return p.checkVersions()
}

// checkUnits returns an error for jobs that no program can have noted, or for so many units that nobody can count them.
func (p *Plan) checkUnits(list []Job) error {
	if err := checkJobs(len(list), 1); err != nil {
		return err
	}
	units := len(p.Known)
	for i, j := range list {
		if j.Episodes < 0 || j.Episodes > episodesMax || j.Shares < 0 || j.Shares > sharesMax {
			return fmt.Errorf("resolved[%d]: %d episodes and %d shares are impossible: begin the campaign again", i,
				j.Episodes, j.Shares)
		}
		if n := j.units(p.unit()); n != endless {
			units += n
		}
		if units > unitsMax {
			return fmt.Errorf("episodes: they make more than %d units: write a larger unit, or fewer episodes", unitsMax)
		}
	}
	return nil
}

// unitsMax is how many units a plan may have that ends by itself.
const unitsMax = 1_000_000

// unitMax is how many episodes a unit may have.
const unitMax = 1 << 20

func (p *Plan) checkVersions() error {
	for i, version := range p.Go {
		switch {
		case !strings.HasPrefix(version, "go1."):
			return fmt.Errorf("go: %q is not a version: write it as in GOTOOLCHAIN, such as \"go1.26.8\"", version)
		case slices.Contains(p.Go[:i], version):
			return fmt.Errorf("go: %q is there twice: leave one out", version)
		}
	}
	return nil
}

// canary is the job of the plan's canary.
func (p *Plan) canary() ([]Job, error) {
	id := cmp.Or(p.Canary, CanaryDefault)
	if id == "none" {
		return nil, nil
	}
	found, err := zoo.Find([]string{id})
	if err != nil {
		return nil, err
	}
	if found[0].Rate == 0 {
		return nil, fmt.Errorf("%q has no known rate: write %q, or \"none\"", id, CanaryDefault)
	}
	return p.jobsOf([]Job{ofAnimal(found[0])}, Group{})
}

// ofAnimal is an animal as a job that says no more than what is run.
func ofAnimal(a zoo.Animal) Job {
	w := a.Broken()
	return Job{Kind: w.Name(), Recipe: w.Recipe(), Animal: a.ID, Canary: a.Rate > 0, Faults: a.Faults().String(),
		Clients: a.Clients}
}

// The defaults of a group: those of torture run, and for a search of all executions those of package sim.
const (
	clientsDefault           = 3
	opsDefault               = 4
	exhaustiveClientsDefault = 2
	exhaustiveOpsDefault     = 1
)

// ofGroup returns the jobs of a group.
func (p *Plan) ofGroup(g Group) ([]Job, error) {
	if err := g.check(); err != nil {
		return nil, err
	}
	subjects, err := p.subjects(g)
	if err != nil {
		return nil, err
	}
	return p.jobsOf(subjects, g)
}

// jobsOf returns the jobs of recipes: for each, each strategy and each seed of a group. They are counted first.
func (p *Plan) jobsOf(subjects []Job, g Group) (jobs []Job, err error) {
	if err := checkJobs(len(subjects), max(len(g.Strategies), 1), max(len(g.Seeds), 1), len(p.Go)); err != nil {
		return nil, err
	}
	for _, subject := range subjects {
		for _, strategy := range subject.strategies(g) {
			for _, seed := range orElse(g.Seeds, 1) {
				j := subject
				j.Strategy, j.Seed, j.Episodes, j.Exact, j.Wire = strategy, seed, p.episodes(), g.Exact, g.Wire
				j.bound(g)
				if strategy != sim.Near || len(p.near(j)) > 0 {
					jobs = append(jobs, j)
				}
			}
		}
	}
	return jobs, nil
}

// strategies are those by which a recipe is run: of a canary that of [zoo.Hunter].
func (j Job) strategies(g Group) []string {
	if j.Canary {
		return []string{"random"}
	}
	return orElse(g.Strategies, "mix")
}

// episodes is how many a job has that no search of all executions is; 0: as many as there is time for.
func (p *Plan) episodes() int {
	if p.Duration > 0 {
		return 0
	}
	return cmp.Or(p.Episodes, EpisodesDefault)
}

// bound sets what bounds the episodes of a job.
func (j *Job) bound(g Group) {
	clients, ops := clientsDefault, opsDefault
	if j.Strategy == sim.Exhaustive {
		clients, ops = exhaustiveClientsDefault, exhaustiveOpsDefault
		j.Episodes, j.AtMost, j.Plain, j.Shares = 0, cmp.Or(g.AtMost, 1), g.Plain, cmp.Or(g.Shares, SharesDefault)
	}
	if j.Canary {
		j.Episodes = CanaryEpisodes
	}
	j.Ops = cmp.Or(g.Ops, ops)
	if j.Animal == "" {
		j.Clients = cmp.Or(g.Clients, clients)
	}
}

func orElse[T any](list []T, otherwise T) []T {
	if len(list) == 0 {
		return []T{otherwise}
	}
	return list
}

// check returns an error for a group that cannot be run, whatever its recipes are.
func (g *Group) check() error {
	for _, s := range g.Strategies {
		if err := sim.CheckStrategy(s); err != nil {
			return fmt.Errorf("strategies: %w", err)
		}
	}
	searches := slices.Contains(g.Strategies, sim.Exhaustive)
	switch {
	case g.Clients < 0 || g.Clients > 64 || g.Ops < 0 || g.Ops > 1000:
		return fmt.Errorf("clients and ops: %d with %d are impossible: write 1 to 64 and 1 to 1000", g.Clients, g.Ops)
	case len(g.Animals) > 0 && (len(g.Kinds) > 0 || len(g.Recipes) > 0):
		return errors.New("animals: they have their kinds and recipes: leave out kinds and recipes, or make two groups")
	case len(g.Animals) > 0 && (g.Faults != "" || g.Clients > 0):
		return errors.New("animals: they have their own faults and clients: leave these out")
	case searches && (g.Exact || g.Wire):
		return errors.New("strategies: exhaustive goes neither with exact nor with wire: make two groups")
	case !searches && (g.AtMost != 0 || g.Plain || g.Shares != 0):
		return errors.New("at_most, plain and shares are for strategy exhaustive")
	case g.AtMost < 0 || g.AtMost > 6:
		return fmt.Errorf("at_most: %d is impossible: write 1 to 6, or \"faults\": \"none\"", g.AtMost)
	case g.Shares < 0 || g.Shares > sharesMax:
		return fmt.Errorf("shares: %d is impossible: write 1 to %d", g.Shares, sharesMax)
	}
	_, err := g.faults()
	return err
}

// sharesMax is into how many units a search may be cut.
const sharesMax = 1 << 16

func (g *Group) faults() (world.Faults, error) {
	faults, err := world.ParseFaults(cmp.Or(g.Faults, "all"))
	if err != nil {
		return 0, fmt.Errorf("faults: %w", err)
	}
	return faults, nil
}

// subjects are the recipes of a group, as jobs that say no more than what is run.
func (p *Plan) subjects(g Group) ([]Job, error) {
	if len(g.Animals) > 0 {
		return p.animals(g)
	}
	kinds, err := g.kinds()
	if err != nil {
		return nil, err
	}
	faults, err := g.faults()
	if err != nil {
		return nil, err
	}
	var found []Job
	used := map[string]bool{}
	for _, k := range kinds {
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
		if r != allOfThem && !used[r] {
			return nil, fmt.Errorf("recipes: %q is unknown: see torture list for those of each kind", r)
		}
	}
	return found, nil
}

// allOfThem stands for all recipes, or all animals.
const allOfThem = "all"

// wants reports whether a recipe belongs to a group.
func (g *Group) wants(recipe string) bool {
	if slices.Contains(g.Recipes, recipe) {
		return true
	}
	onPurpose := strings.HasPrefix(recipe, "published/") || recipe == "unfenced"
	return !onPurpose && (len(g.Recipes) == 0 || slices.Contains(g.Recipes, allOfThem))
}

func (g *Group) kinds() ([]*workload.Kind, error) {
	if len(g.Kinds) == 0 {
		return workload.Kinds(), nil
	}
	var kinds []*workload.Kind
	for _, name := range g.Kinds {
		k, err := workload.KindNamed(name)
		if err != nil {
			return nil, fmt.Errorf("kinds: %w", err)
		}
		kinds = append(kinds, k)
	}
	return kinds, nil
}

// animals are those of a group. "all" leaves out the plan's canary, which has a job already, and those that need exact
// mode unless it is asked for.
func (p *Plan) animals(g Group) (found []Job, err error) {
	var animals []zoo.Animal
	if slices.Contains(g.Animals, allOfThem) {
		animals = slices.DeleteFunc(everyAnimal(), func(a zoo.Animal) bool {
			return a.Exact && !g.Exact || a.ID == cmp.Or(p.Canary, CanaryDefault)
		})
	} else if animals, err = zoo.Find(g.Animals); err != nil {
		return nil, fmt.Errorf("animals: %w", err)
	}
	for _, a := range animals {
		if a.Exact && !g.Exact {
			return nil, fmt.Errorf("animals: %s shows in exact mode only: write \"exact\": true", a.ID)
		}
		found = append(found, ofAnimal(a))
	}
	return found, nil
}

// everyAnimal lists all animals, in the same order in every program.
func everyAnimal() []zoo.Animal {
	all := append(zoo.Animals(), zoo.Skipped()...)
	slices.SortFunc(all, func(a, b zoo.Animal) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// ofVersions returns the jobs for each version of Go. The same job twice is a mistake.
func (p *Plan) ofVersions(list []Job) (all []Job, err error) {
	for _, version := range orElse(p.Go, "") {
		for _, j := range list {
			j.Go = version
			all = append(all, j)
		}
	}
	seen := map[Job]bool{}
	for _, j := range all {
		if seen[j] {
			return nil, fmt.Errorf("jobs: this one is there twice, leave one out: %v", j)
		}
		seen[j] = true
	}
	return all, nil
}

// jobsMax is how many jobs a plan may have.
const jobsMax = 10_000

// checkJobs returns an error for more jobs than a plan may have: the product of what each is made for. No versions of
// Go count as one.
func checkJobs(factors ...int) error {
	n := 1
	for _, f := range factors {
		if n *= max(f, 1); n > jobsMax {
			return fmt.Errorf("jobs: there are more than %d: make several plans", jobsMax)
		}
	}
	return nil
}

// String says in a line what a job is.
func (j Job) String() string {
	what := fmt.Sprintf("%s (%s)", j.Kind, j.Recipe)
	if j.Animal != "" {
		what += ", known bug " + j.Animal
	}
	what += fmt.Sprintf(", strategy %s, seed %d, faults %s", j.Strategy, j.Seed, j.Faults)
	for _, mode := range []struct {
		is   bool
		name string
	}{{j.Exact, "exact"}, {j.Wire, "wire"}, {j.Go != "", j.Go}} {
		if mode.is {
			what += ", " + mode.name
		}
	}
	return what
}
