package campaign

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/zktorture/zktorture/sim"
)

// PlanFormat is the first field of every plan.
const PlanFormat = "zktorture plan 1"

// Plan is a campaign over many recipes, as its file says it; [ReadPlan] reads one. It must not change once [Plan.List],
// [Plan.Digest], [Plan.Units] or [Plan.Unit] has been called.
type Plan struct {
	Format string  `json:"format"` // [PlanFormat]
	Name   string  `json:"name"`
	Jobs   []Group `json:"jobs"`

	Episodes int      `json:"episodes,omitempty"` // of each job that is no search of all executions; default 10,000 …
	Duration Duration `json:"duration,omitempty"` // … or how long the whole campaign may take: all jobs in turns
	PerUnit  int      `json:"unit,omitempty"`     // episodes of a unit; default 1,000

	// Main is the package main, as go build takes it, of a torture-campaign with kinds of one's own, in the folder of the
	// plan; default: this program. Go are the versions of Go with which it is built, as GOTOOLCHAIN names them, each of
	// which gives jobs of its own; default: the one that built this program.
	Main string   `json:"main,omitempty"`
	Go   []string `json:"go,omitempty"`

	Limit  Duration `json:"unit_limit,omitempty"`  // how long a unit may take before it counts as frozen; default 10m
	Memory int      `json:"unit_memory,omitempty"` // MB that a process may take; default 2048
	Tries  int      `json:"tries,omitempty"`       // of a unit, before it is unknown; default 3

	// Canary is the id of an animal of the zoo that must be found at its known rate; default "canary", "none" for none.
	Canary string `json:"canary,omitempty"`

	// What follows is not written by people: it is noted when a campaign begins, see [Plan.Record].

	Programs []Program `json:"programs,omitempty"` // that may run units
	Known    []Known   `json:"known,omitempty"`    // failures of earlier campaigns, which are run again first
	Resolved []Job     `json:"resolved,omitempty"` // what Jobs stands for

	once sync.Once
	made made
}

// The defaults of a plan.
const (
	EpisodesDefault = 10_000
	PerUnitDefault  = 1_000
	LimitDefault    = 10 * time.Minute
	MemoryDefault   = 2048
	TriesDefault    = 3
	SharesDefault   = 16
	CanaryDefault   = "canary"
)

// CanaryEpisodes is how many episodes a canary is run for, whatever the plan says: enough for its rate to be known.
const CanaryEpisodes = 6_400

// Group says which recipes are run, and how: a job for each recipe, strategy, seed and version of Go.
type Group struct {
	Kinds   []string `json:"kinds,omitempty"`   // default: all
	Recipes []string `json:"recipes,omitempty"` // names of them; "all" (the default): all that are not broken on purpose
	Animals []string `json:"animals,omitempty"` // of the zoo, instead of kinds and recipes, by their ids, or "all"
	// Strategies are those of [sim.Strategies]; default: mix. Strategy near begins with the choices of known failures of
	// the same kind; it has no job where there are none. A canary is run by strategy random.
	Strategies []string `json:"strategies,omitempty"`
	Seeds      []uint64 `json:"seeds,omitempty"`   // default: 1
	Faults     string   `json:"faults,omitempty"`  // as for --faults, such as all,-wrap; default: all. An animal has its own
	Clients    int      `json:"clients,omitempty"` // default: 3; of strategy exhaustive 2. An animal has its own
	Ops        int      `json:"ops,omitempty"`     // default: 4; of strategy exhaustive 1
	Exact      bool     `json:"exact,omitempty"`   // see package sim
	Wire       bool     `json:"wire,omitempty"`    // with go-zookeeper's own client
	AtMost     int      `json:"at_most,omitempty"` // of strategy exhaustive: so many faults strike; default 1
	Plain      bool     `json:"plain,omitempty"`   // of strategy exhaustive: the simplest plan alone
	Shares     int      `json:"shares,omitempty"`  // of strategy exhaustive: so many units; default 16
}

// Job is one campaign of package sim. Nothing in it is left to a default.
type Job struct {
	Kind     string `json:"kind"`
	Recipe   string `json:"recipe"`
	Animal   string `json:"animal,omitempty"` // of the zoo: it is to be found
	Canary   bool   `json:"canary,omitempty"` // … at its known rate
	Strategy string `json:"strategy"`
	Seed     uint64 `json:"seed"`
	Episodes int    `json:"episodes,omitempty"` // 0: as many as there is time for, or all executions
	Faults   string `json:"faults"`
	Clients  int    `json:"clients"`
	Ops      int    `json:"ops"`
	Exact    bool   `json:"exact,omitempty"`
	Wire     bool   `json:"wire,omitempty"`
	AtMost   int    `json:"at_most,omitempty"`
	Plain    bool   `json:"plain,omitempty"`
	Shares   int    `json:"shares,omitempty"`
	Go       string `json:"go,omitempty"` // the version of Go; "": that of this program
}

// Program is a build of the command that runs units: workers of any other are refused.
type Program struct {
	Go     string `json:"go,omitempty"` // as in [Job]
	Build  string `json:"build"`        // as [program.Build] says it
	SHA256 string `json:"sha256"`       // of the program file
	System string `json:"system"`       // as "linux/amd64"
}

// Known is a failure that an earlier campaign has found.
type Known struct {
	ID             string              `json:"id"`
	Counterexample *sim.Counterexample `json:"counterexample"`
}

// made is what is made of a plan once.
type made struct {
	list   []Job
	digest string
	order  order
	err    error
}

func (p *Plan) make() *made {
	p.once.Do(func() {
		m := &p.made
		if m.list, m.err = p.resolve(); m.err != nil {
			return
		}
		m.order = newOrder(len(p.Known), m.list, p.unit())
		m.digest, m.err = p.sum(m.list)
	})
	return &p.made
}

// List returns the jobs: that of the canary first, then those of the groups in their order.
func (p *Plan) List() ([]Job, error) {
	m := p.make()
	return m.list, m.err
}

// Digest covers the plan and all that its defaults stand for: results of plans with different digests do not add up. It
// is "" for a plan of which [Plan.List] returns an error.
func (p *Plan) Digest() string { return p.make().digest }

// sum is the SHA-256 of the plan's JSON with its list of jobs.
func (p *Plan) sum(list []Job) (string, error) {
	text, err := json.Marshal(p.with(p.Programs, p.Known, list))
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", sha256.Sum256(text)), nil
}

// with is a copy with what is noted when a campaign begins.
func (p *Plan) with(programs []Program, known []Known, list []Job) *Plan {
	return &Plan{
		Format: p.Format, Name: p.Name, Jobs: p.Jobs, Episodes: p.Episodes, Duration: p.Duration, PerUnit: p.PerUnit,
		Main: p.Main, Go: p.Go, Limit: p.Limit, Memory: p.Memory, Tries: p.Tries, Canary: p.Canary,
		Programs: programs, Known: known, Resolved: list,
	}
}

// Record returns the plan as a campaign records it when it begins: with the programs that may run it, the failures that
// are run again first, and the list of its jobs. Kinds of a Main are known to that program alone, which does the same by
// torture-campaign part --resolve.
func (p *Plan) Record(programs []Program, known []Known) (*Plan, error) {
	recorded := p.with(programs, known, nil)
	list, err := recorded.List()
	if err != nil {
		return nil, err
	}
	return p.with(programs, known, list), nil
}

// Units returns how many units there are, 0 if as many as there is time for.
func (p *Plan) Units() int { return p.make().order.units() }

// Unit returns a unit by its number: known failures come first, then the jobs in turns, so that the first n units are
// fair to all. There are none of other numbers than 0 to [Plan.Units].
func (p *Plan) Unit(n int) (Unit, bool) { return p.make().order.unit(n) }

// UnitsOf returns how many units a job has, 0 if as many as there is time for.
func (p *Plan) UnitsOf(job int) int {
	if n := p.make().order.count[job]; n != endless {
		return n
	}
	return 0
}

// Needs says which program runs a unit: of which version of Go, as [Job] has it, and whether in exact mode.
func (p *Plan) Needs(u Unit) (version string, exact bool) {
	if u.Job >= 0 {
		job := p.make().list[u.Job]
		return job.Go, job.Exact
	}
	if len(p.Go) > 0 {
		version = p.Go[0]
	}
	return version, p.Known[u.Known].Counterexample.Exact
}

// unit is how many episodes a unit has.
func (p *Plan) unit() int { return cmp.Or(p.PerUnit, PerUnitDefault) }

// UnitLimit is how long a unit may take.
func (p *Plan) UnitLimit() time.Duration { return cmp.Or(time.Duration(p.Limit), LimitDefault) }

// UnitMemory is how many MB a process may take.
func (p *Plan) UnitMemory() int { return cmp.Or(p.Memory, MemoryDefault) }

// UnitTries is how often a unit is tried before it is unknown.
func (p *Plan) UnitTries() int { return cmp.Or(p.Tries, TriesDefault) }

// Duration is a duration that JSON has as a text, such as "8h".
type Duration time.Duration
