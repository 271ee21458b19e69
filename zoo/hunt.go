package zoo

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/zktorture/zktorture/live/confirm"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
)

// HuntConfig says how animals are hunted: all by the same strategy, and all faults may strike unless the animal needs
// none.
type HuntConfig struct {
	Seed     uint64
	Episodes int    // at most, for each animal and for its twin, which takes 5,000 at most; default 20,000
	TwinSeed uint64 // of the twins' episodes; default: Seed
	Strategy string // one of [sim.Strategies]; default "mix". It does not count for canaries.
	Workers  int    // episodes under way at the same time; default: GOMAXPROCS
	// SkipTwin leaves out the twin.
	SkipTwin bool
	// NoShrink leaves the stories as they were found.
	NoShrink bool
}

// Catch is the result of a hunt.
type Catch struct {
	Animal       Animal
	Found        *sim.Found            // the smallest story of the animal's property; nil if it was not found
	Episodes     int                   // in which it was found, or that were run in vain
	Rate         float64               // of a canary: the share of the random episodes
	Confirmed    *confirm.Confirmation // on real servers; nil if nobody has looked
	TwinEpisodes int
	TwinClean    bool
	Problem      string // why it was not found, or what the twin is accused of
	Elapsed      time.Duration
}

// OK reports whether the animal was found and its twin, if it was looked at, is clean.
func (c Catch) OK() bool { return c.Found != nil && c.Problem == "" }

// EpisodesMax is the default of HuntConfig.Episodes.
const EpisodesMax = 20_000

// twinEpisodesMax is how many episodes of a twin are run at most: with another seed in each run they add up.
const twinEpisodesMax = 5_000

// Hunter hunts animals, several at the same time if asked to, and looks at a twin that several have in common only
// once.
type Hunter struct {
	cfg HuntConfig

	mu    sync.Mutex
	twins map[string]func() (sim.Result, error) // by recipe
}

// NewHunter returns a hunter.
func NewHunter(cfg HuntConfig) *Hunter {
	cfg.Episodes = cmp.Or(cfg.Episodes, EpisodesMax)
	cfg.Strategy = cmp.Or(cfg.Strategy, "mix")
	cfg.TwinSeed = cmp.Or(cfg.TwinSeed, cfg.Seed)
	return &Hunter{cfg: cfg, twins: map[string]func() (sim.Result, error){}}
}

// Hunt looks for an animal, and for anything wrong with its twin. The result depends on the seeds alone. When ctx ends
// it stops; then the error says so.
func (hunter *Hunter) Hunt(ctx context.Context, a Animal) (Catch, error) {
	h := hunt{cfg: hunter.cfg, hunter: hunter, catch: Catch{Animal: a}, begin: time.Now()}
	err := h.run(ctx)
	h.catch.Elapsed = time.Since(h.begin)
	return h.catch, err
}

// hunt is a Hunt under way.
type hunt struct {
	cfg    HuntConfig
	hunter *Hunter
	catch  Catch
	begin  time.Time
}

func (h *hunt) run(ctx context.Context) error {
	steps := []func(context.Context) error{h.search}
	if h.catch.Animal.Rate > 0 {
		steps[0] = h.count
	}
	if !h.cfg.SkipTwin {
		steps = append(steps, h.twin)
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return fmt.Errorf("the search for %s was interrupted", h.catch.Animal.ID)
		}
	}
	if h.catch.Found == nil {
		h.blame("not found in %d episodes", h.catch.Episodes)
	}
	return nil
}

// blame notes a problem, besides those noted before.
func (h *hunt) blame(format string, args ...any) {
	if h.catch.Problem != "" {
		h.catch.Problem += "; "
	}
	h.catch.Problem += fmt.Sprintf(format, args...)
}

// search runs episodes until the animal is found.
func (h *hunt) search(ctx context.Context) error {
	r, err := h.campaign(ctx, h.cfg.Strategy, h.catch.Animal.Property)
	if err != nil {
		return err
	}
	h.catch.Episodes = r.Episodes
	if h.take(r); h.catch.Found != nil {
		h.catch.Episodes = h.catch.Found.Episode + 1
	}
	return nil
}

func (h *hunt) campaign(ctx context.Context, strategy, until string) (sim.Result, error) {
	return sim.Run(ctx, h.catch.Animal.Broken(), sim.Config{
		Strategy: strategy, Until: until, Episodes: h.cfg.Episodes, Seed: h.cfg.Seed,
		Faults: h.catch.Animal.Faults(), NoFaultsAtAll: true,
		Clients: h.catch.Animal.Clients, Workers: h.cfg.Workers, NoShrink: h.cfg.NoShrink,
	})
}

// Faults are those with which the animal is hunted: all, and what it needs besides.
func (a Animal) Faults() world.Faults {
	needs, err := world.ParseFaults(a.Needs)
	if err != nil || needs == world.NoFaults {
		return world.NoFaults
	}
	return world.AllFaults | needs
}

// take takes the violation that the animal is known for, if a campaign has found it.
func (h *hunt) take(r sim.Result) {
	for i := range r.Violations {
		if r.Violations[i].Property == h.catch.Animal.Property {
			h.catch.Found = &r.Violations[i]
		}
	}
}

// count measures how often a canary shows.
func (h *hunt) count(ctx context.Context) error {
	r, err := h.campaign(ctx, "random", "")
	if err != nil {
		return err
	}
	h.catch.Episodes = r.Episodes
	if h.take(r); h.catch.Found == nil {
		return nil
	}
	h.catch.Episodes = h.catch.Found.Episode + 1
	h.catch.Rate = float64(h.catch.Found.Times) / float64(max(r.Episodes, 1))
	if want := h.catch.Animal.Rate; h.catch.Rate < want/2 || h.catch.Rate > want*2 {
		h.blame("found in %.2f %% of the episodes, not in about %.2f %%: the harness is broken",
			100*h.catch.Rate, 100*want)
	}
	return nil
}

// twin looks at the fixed twin, which must break nothing. Half of its episodes are those of all animals that have it, with
// all faults; the other half is dealt to these animals, and begins like their counterexamples.
func (h *hunt) twin(ctx context.Context) error {
	h.catch.TwinClean = true
	for _, look := range []func(context.Context, Animal) (sim.Result, error){h.hunter.examine, h.examineNear} {
		r, err := look(ctx, h.catch.Animal)
		if err != nil {
			h.catch.TwinClean = false
			return err
		}
		if h.catch.TwinEpisodes += r.Episodes; r.Verdict != sim.VerdictOK {
			h.catch.TwinClean = false
			h.blame("the fixed version is accused: %s", accusations(r))
		}
	}
	return nil
}

// half is half of the episodes of a twin.
func (hunter *Hunter) half() int { return (min(hunter.cfg.Episodes, twinEpisodesMax) + 1) / 2 }

func (hunter *Hunter) examine(ctx context.Context, a Animal) (sim.Result, error) {
	twin := a.Twin()
	hunter.mu.Lock()
	once, known := hunter.twins[twin.Recipe()]
	if !known {
		once = sync.OnceValues(func() (sim.Result, error) {
			cfg := sim.Config{
				Strategy: hunter.cfg.Strategy, Episodes: hunter.half(), Seed: hunter.cfg.TwinSeed,
				Clients: a.Clients, Workers: hunter.cfg.Workers, Faults: world.AllFaults,
			}
			for _, other := range a.kin() {
				cfg.Clients, cfg.Faults = max(cfg.Clients, other.Clients), cfg.Faults|other.Faults()
			}
			return sim.Run(ctx, twin, cfg)
		})
		hunter.twins[twin.Recipe()] = once
	}
	hunter.mu.Unlock()
	return once()
}

// examineNear runs the twin in the animal's own terms, from the choices of its counterexample, if there is one.
func (h *hunt) examineNear(ctx context.Context, a Animal) (sim.Result, error) {
	if h.catch.Found == nil {
		return sim.Result{Verdict: sim.VerdictOK}, nil
	}
	return sim.Run(ctx, a.Twin(), sim.Config{
		Strategy: "near", Near: []world.Choices{h.catch.Found.Choices}, Seed: h.cfg.TwinSeed,
		Episodes: max(h.hunter.half()/max(len(a.kin()), 1), 1), Faults: a.Faults(), NoFaultsAtAll: true,
		Clients: a.Clients, Workers: h.cfg.Workers,
	})
}

// kin are all animals that have its twin.
func (a Animal) kin() []Animal {
	recipe := a.Twin().Recipe()
	return slices.DeleteFunc(Animals(), func(other Animal) bool { return other.Twin().Recipe() != recipe })
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
