package zoo

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
)

// HuntConfig says how known bugs are hunted: all by the same strategy, and all faults may strike unless the bug needs none.
type HuntConfig struct {
	Seed      uint64
	Episodes  int    // at most, for each bug and for its fixed version, which takes 5,000 at most; default 20,000
	Strategy  string // one of [sim.Strategies]; default "mix". It does not count for canaries.
	Workers   int    // episodes under way at the same time; default: GOMAXPROCS
	SkipFixed bool   // leave out the fixed version
	NoShrink  bool   // leave the stories as they were found
}

// Catch is the result of a hunt.
type Catch struct {
	Bug           KnownBug
	Found         *sim.Found // the smallest story of the bug's property; nil if it was not found
	Episodes      int        // in which it was found, or that were run in vain
	Rate          float64    // of a canary: the share of the random episodes
	FixedEpisodes int
	FixedClean    bool
	Problem       string // why it was not found, or what the fixed version is accused of
	Elapsed       time.Duration
}

// OK reports whether the bug was found and its fixed version, if it was looked at, is clean.
func (c Catch) OK() bool { return c.Found != nil && c.Problem == "" }

// EpisodesMax is the default of HuntConfig.Episodes.
const EpisodesMax = 20_000

// fixedEpisodesMax is how many episodes of a fixed version are run at most: with another seed in each run they add up.
const fixedEpisodesMax = 5_000

// Hunter hunts known bugs, several at the same time if asked to, and looks at a fixed version that several have in common only
// once.
type Hunter struct {
	cfg HuntConfig

	mu    sync.Mutex
	fixed map[string]func() (sim.Result, error) // by recipe
}

// NewHunter returns a hunter.
func NewHunter(cfg HuntConfig) *Hunter {
	cfg.Episodes = cmp.Or(cfg.Episodes, EpisodesMax)
	cfg.Strategy = cmp.Or(cfg.Strategy, "mix")
	return &Hunter{cfg: cfg, fixed: map[string]func() (sim.Result, error){}}
}

// Hunt looks for a bug, and for anything wrong with its fixed version. The result depends on the seeds alone. When ctx ends it
// stops; then the error says so.
func (h *Hunter) Hunt(ctx context.Context, b KnownBug) (Catch, error) {
	c, begin := Catch{Bug: b}, time.Now()
	err := h.search(ctx, &c)
	if err == nil && !h.cfg.SkipFixed {
		err = h.examine(ctx, &c)
	}
	if err == nil && ctx.Err() != nil {
		err = fmt.Errorf("the search for %s was interrupted", b.ID)
	}
	if err == nil && c.Found == nil {
		c.blame("not found in %d episodes", c.Episodes)
	}
	c.Elapsed = time.Since(begin)
	return c, err
}

// Counterexample is that of what was found.
func (c Catch) Counterexample() (*sim.Counterexample, error) {
	w, cfg := c.Bug.Broken(), sim.Config{NoFaultsAtAll: true, Clients: c.Bug.Clients, Faults: c.Bug.Faults()}
	return cfg.Counterexample(sim.Result{Workload: w.Name(), Recipe: w.Recipe()}, *c.Found)
}

// blame notes a problem, besides those noted before.
func (c *Catch) blame(format string, args ...any) {
	if c.Problem != "" {
		c.Problem += "; "
	}
	c.Problem += fmt.Sprintf(format, args...)
}

// search runs episodes until the bug is found. Of a canary it runs all, and counts how often it shows.
func (h *Hunter) search(ctx context.Context, c *Catch) error {
	b := c.Bug
	cfg := sim.Config{
		Strategy: h.cfg.Strategy, Until: b.Property, Episodes: h.cfg.Episodes, Seed: h.cfg.Seed, Faults: b.Faults(),
		NoFaultsAtAll: true, Clients: b.Clients, Workers: h.cfg.Workers, NoShrink: h.cfg.NoShrink,
	}
	if b.Rate > 0 {
		cfg.Strategy, cfg.Until = "random", ""
	}
	r, err := sim.Run(ctx, b.Broken(), cfg)
	if err != nil {
		return err
	}
	c.Episodes = r.Episodes
	i := slices.IndexFunc(r.Violations, func(f sim.Found) bool { return f.Property == b.Property })
	if i < 0 {
		return nil
	}
	c.Found = &r.Violations[i]
	c.Episodes = c.Found.Episode + 1
	if b.Rate > 0 {
		c.Rate = float64(c.Found.Times) / float64(max(r.Episodes, 1))
		if c.Rate < b.Rate/2 || c.Rate > b.Rate*2 {
			c.blame("found in %.2f %% of the episodes, not in about %.2f %%: the harness is broken", 100*c.Rate, 100*b.Rate)
		}
	}
	return nil
}

// examine looks at the fixed version, which must break nothing. Half of its episodes are those of all bugs that have it, with all
// faults; the other half is dealt to these bugs, and begins like their counterexamples.
func (h *Hunter) examine(ctx context.Context, c *Catch) error {
	clean := true
	for _, look := range []func(context.Context, *Catch) (sim.Result, error){h.examineAll, h.examineNear} {
		r, err := look(ctx, c)
		if err != nil {
			return err
		}
		if c.FixedEpisodes += r.Episodes; r.Verdict != sim.VerdictOK {
			clean = false
			c.blame("the fixed version is accused: %s", accusations(r))
		}
	}
	c.FixedClean = clean
	return nil
}

// half is half of the episodes of a fixed version.
func (h *Hunter) half() int { return (min(h.cfg.Episodes, fixedEpisodesMax) + 1) / 2 }

func (h *Hunter) examineAll(ctx context.Context, c *Catch) (sim.Result, error) {
	w := c.Bug.Fixed()
	h.mu.Lock()
	once, known := h.fixed[w.Recipe()]
	if !known {
		once = sync.OnceValues(func() (sim.Result, error) {
			cfg := sim.Config{
				Strategy: h.cfg.Strategy, Episodes: h.half(), Seed: h.cfg.Seed, Workers: h.cfg.Workers, Faults: world.AllFaults,
			}
			for _, other := range c.Bug.sharing() {
				cfg.Clients, cfg.Faults = max(cfg.Clients, other.Clients), cfg.Faults|other.Faults()
			}
			return sim.Run(ctx, w, cfg)
		})
		h.fixed[w.Recipe()] = once
	}
	h.mu.Unlock()
	return once()
}

// examineNear runs the fixed version in the bug's own terms, from the choices of its counterexample, if there is one.
func (h *Hunter) examineNear(ctx context.Context, c *Catch) (sim.Result, error) {
	if c.Found == nil {
		return sim.Result{Verdict: sim.VerdictOK}, nil
	}
	return sim.Run(ctx, c.Bug.Fixed(), sim.Config{
		Strategy: "near", Near: []world.Choices{c.Found.Choices}, Seed: h.cfg.Seed,
		Episodes: max(h.half()/max(len(c.Bug.sharing()), 1), 1), Faults: c.Bug.Faults(), NoFaultsAtAll: true,
		Clients: c.Bug.Clients, Workers: h.cfg.Workers,
	})
}

// sharing are all known bugs that have its fixed version.
func (b KnownBug) sharing() []KnownBug {
	recipe := b.Fixed().Recipe()
	return slices.DeleteFunc(KnownBugs(), func(other KnownBug) bool { return other.Fixed().Recipe() != recipe })
}

func accusations(r sim.Result) string {
	var properties []string
	if r.Reason != "" {
		properties = append(properties, r.Reason)
	}
	for _, v := range r.Violations {
		properties = append(properties, v.Property)
	}
	return strings.Join(properties, ", ")
}

// Operations counts the operations of a story that were begun while faults could strike.
func Operations(f sim.Found) (n int) {
	for _, step := range f.Trace {
		if step.N <= f.Steps && step.Kind == world.KindCall {
			n++
		}
	}
	return n
}
