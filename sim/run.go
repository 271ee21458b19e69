package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/internal/digest"
)

// Config says how to run a campaign. The zero value is usable: 1000 random episodes of up to three
// clients with all faults.
type Config struct {
	Strategy string // one of [Strategies]; default "random"
	Episodes int    // how many; 0: until Duration is over, or 1000 if that is 0 too
	Duration time.Duration
	Seed     uint64
	Faults   Faults // what may strike; see NoFaultsAtAll for the empty set
	Clients  int    // at most so many clients; default 3
	Ops      int    // at most so many operations a user; default 4
	Workers  int    // episodes under way at the same time; default: GOMAXPROCS

	// NoFaultsAtAll makes the zero Faults mean none rather than all.
	NoFaultsAtAll bool
	// Again is the command that runs a counterexample file again, FILE standing for its name; default
	// "torture replay FILE". It is shown when the process dies in the middle of an episode.
	Again string
	// Progress, if set, is called about ten times a second, and at the end of the last episode.
	Progress func(Progress)
	// Once lets an exact build, which runs all passing episodes twice and compares, run them as other builds do: once,
	// but for a share of them. See [Exact].
	Once bool
	// Elsewhere, if set, runs some episodes of a random campaign in another process, by [RunPart]; it is called by
	// Workers goroutines at the same time. An error ends the campaign.
	Elsewhere func(ctx context.Context, from, episodes int) (Part, error)
	// Coverage measures how much of the world the episodes have shown, see [Coverage].
	Coverage bool
	// NoShrink leaves counterexamples as they were found.
	NoShrink bool
	// Audit is the number of episodes, the first ones, on which the checker's sensitivity is measured if they are
	// clean, see [Sensitivity].
	Audit int
	// Until, if set, is the only property that counts, and the campaign ends with the first episode that breaks it.
	// (That episode depends on the seed alone; the sums of the result also cover those that had begun.)
	Until string

	// Of strategy "exhaustive": so many faults strike at most, and a client has so many users at most; default 1. Episodes
	// is then the most runs that are made, by default any number, and Clients and Ops are exact bounds, by default 2 and 1.
	AtMost, Users int
	// Whole lets a search go on after a violation, to find every property that breaks; Backwards takes the options of
	// each choice in the other order; Without leaves reductions out. A search that comes to its end finds the same.
	Whole, Backwards bool
	Without          Reductions
	// Plain searches one plan alone: of the most clients and turns, in which each user plays the part that stands in its
	// place in the list of those that users of the kind play ([Plan.Part]), and does all else as simply as can be.
	Plain bool
	// Checkpoint, if set, is the file from which a search goes on, if it is there, and to which it writes how far it has
	// come, every ten seconds and when it ends early.
	Checkpoint string
}

// Progress is how far a campaign is.
type Progress struct {
	Episodes, Of int
	Operations   int64
	Struck       map[string]int // times each fault struck
	Violations   int            // episodes in which a property broke
	Elapsed      time.Duration
}

// Verdict is ok, violation or unknown. Unknown is never a pass.
type Verdict string

// The verdicts.
const (
	VerdictOK        Verdict = "ok"
	VerdictViolation Verdict = "violation"
	VerdictUnknown   Verdict = "unknown"
)

// Result is what came of a campaign.
type Result struct {
	Workload, Recipe string
	Strategy         string
	Seed             uint64
	Episodes         int
	Steps            int64
	Operations       int64
	Struck           map[string]int // times each fault struck
	Verdict          Verdict
	Undecided        int            // episodes that could not be judged
	Reason           string         // why unknown
	Disputed         map[string]any // see [Judgement.Disputed], of the episode that Reason is about
	Violations       []Found        // one for each property, the likely root first: see [RootFirst]
	Sensitivity      Sensitivity
	Coverage         *Coverage // nil unless [Config.Coverage] asks for it
	Rerun            Rerun
	NotJudged        []string      // properties that could not be judged, in alphabetical order: see [Judgement]
	Wire             bool          // clients were go-zookeeper's own: equal choices may give another run, see [WireNote]
	Left             int           // episodes that left goroutines behind which is not judged, see [Door] …
	LeftAt           string        // … and where they stood, in one of these
	Partly           int           // episodes of which some properties could not be judged, see [World.Attributed]
	Waived           []string      // properties that the recipe does not promise: see [Waiver]
	Refused          int64         // stale writes that the guarded resources refused: see [Judgement]
	Recovery         time.Duration // on real servers: the longest that clients needed to reach them after all faults
	Hash             uint64        // covers every step of every episode
	Elapsed          time.Duration
	Interrupted      bool
	Extent           Extent
}

// Found is a violation with what is needed to see it again.
type Found struct {
	Violation
	Episode int // in which it was found first; how often it was found is Times
	Times   int
	Clients int
	Faults  int
	Steps   int // of the torture phase
	Choices Choices
	Hash    uint64
	Trace   []Step
	History any // what the clients saw

	Wire       bool        // see [WireNote]
	Divergence *Divergence // if equal choices gave different runs: then the trace need not show the violation
}

const clientsMax = 16

const stepsMax = 400 // of a torture phase; episodes rarely take a quarter of it

// ErrConfig is the error of a campaign that cannot be run as asked for.
var ErrConfig = errors.New("sim: cannot run")

func (cfg Config) withDefaults() (Config, error) {
	cfg.Strategy = cmp.Or(cfg.Strategy, "random")
	if err := CheckStrategy(cfg.Strategy); err != nil {
		return cfg, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	if cfg.Strategy == Exhaustive {
		cfg.Clients, cfg.Ops = cmp.Or(cfg.Clients, 2), cmp.Or(cfg.Ops, 1)
		cfg.Episodes, cfg.Users = cmp.Or(cfg.Episodes, 1<<40), cmp.Or(cfg.Users, 1)
	}
	if cfg.Duration == 0 {
		cfg.Episodes = cmp.Or(cfg.Episodes, 1000)
	}
	cfg.Episodes = cmp.Or(cfg.Episodes, 1<<40)
	if cfg.Faults == 0 && !cfg.NoFaultsAtAll {
		cfg.Faults = AllFaults
	}
	if cfg.AtMost < 0 || cfg.AtMost > atMostMax || cfg.Users < 0 || cfg.Users > 2 {
		return cfg, fmt.Errorf("%w: %d faults at most and %d users of a client: 0 to %d and 1 or 2 are possible",
			ErrConfig, cfg.AtMost, cfg.Users, atMostMax)
	}
	cfg.Clients = cmp.Or(cfg.Clients, 3)
	cfg.Ops = cmp.Or(cfg.Ops, 4)
	cfg.Workers = cmp.Or(cfg.Workers, runtime.GOMAXPROCS(0))
	if cfg.Clients < 1 || cfg.Clients > clientsMax || cfg.Ops < 1 || cfg.Ops > 100 {
		return cfg, fmt.Errorf("%w: %d clients with %d operations: 1 to 16 and 1 to 100 are possible",
			ErrConfig, cfg.Clients, cfg.Ops)
	}
	return cfg, nil
}

func (cfg Config) episode(source Source) *episodeConfig {
	return &episodeConfig{
		source: source, faults: cfg.Faults, clients: cfg.Clients, ops: cfg.Ops, stepsMax: stepsMax,
		number: -1, dog: &watchdog{}, exact: exactBuild,
	}
}

// Run runs a campaign: many episodes of a workload. When ctx ends it stops with the result so far. The error is for
// campaigns that cannot be run; violations are in the result.
func Run(ctx context.Context, workload Workload, config Config) (Result, error) {
	c, err := newCampaign(workload, config)
	if err != nil {
		return Result{}, err
	}
	if d := c.cfg.Duration; d > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d)
		defer cancel()
	}
	c.run(ctx)
	c.progress()
	return c.finish(ctx), nil
}

func newCampaign(workload Workload, config Config) (*campaign, error) {
	cfg, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	if cfg.Strategy == Exhaustive && overWire(workload) {
		return nil, fmt.Errorf("%w: all executions can be searched in process only: over the wire the state of the "+
			"client's own library is not known", ErrConfig)
	}
	c := &campaign{workload: workload, cfg: cfg, begin: time.Now(), found: map[string]*candidate{}}
	c.result = Result{
		Workload: workload.Name(), Recipe: workload.Recipe(),
		Strategy: cfg.Strategy, Seed: cfg.Seed, Verdict: VerdictOK,
	}
	if w, can := workload.(Waiver); can {
		c.result.Waived = w.Waived()
	}
	if cfg.Coverage {
		c.seen = newSights()
	}
	c.last.Store(math.MaxInt64)
	return c, nil
}

// campaign is a Run under way.
type campaign struct {
	workload Workload
	cfg      Config
	begin    time.Time
	from     int // the first episode

	mu       sync.Mutex
	result   Result
	struck   [faultCount]int
	found    map[string]*candidate
	seen     *sights // nil if nobody wants to know
	failures int
	frozen   string
	tooMany  string // goroutines were left behind
	solo     *solo  // for what is run again

	last atomic.Int64 // no episode after this one need be run

	search *search // of strategy exhaustive

	firstUnknown int
	differed     *candidate // the first passing episode that was another run when it was run again
}

// job is one episode to run.
type job struct {
	index  int
	source Source // nil: by the index
}

func (c *campaign) run(ctx context.Context) {
	jobs := make(chan job, 64)
	stop, halt := context.WithCancel(context.Background())
	defer halt()
	var next atomic.Int64
	work := func(dog *watchdog) { c.work(stop, jobs, dog) }
	workers := c.cfg.Workers
	if c.cfg.Strategy == Exhaustive {
		workers, work = 1, func(dog *watchdog) { c.exhaust(ctx, stop, dog) }
	} else if c.cfg.Elsewhere != nil && c.cfg.Strategy != "sweep" {
		work = func(*watchdog) { c.workElsewhere(ctx, stop, &next) }
	} else {
		go c.generate(ctx, stop, jobs)
	}
	c.freeze(guard(c.workload, c.cfg, workers, work, c.progress, halt))
}

// freeze notes why a world of the campaign stands still, if it is not "".
func (c *campaign) freeze(why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.frozen = cmp.Or(c.frozen, why)
}

func (c *campaign) progress() {
	if c.cfg.Progress == nil {
		return
	}
	c.mu.Lock()
	r := &c.result
	p := Progress{r.Episodes, c.cfg.Episodes, r.Operations, c.struckByName(), c.failures, time.Since(c.begin)}
	c.mu.Unlock()
	c.cfg.Progress(p)
}

// generate hands out the episodes in order.
func (c *campaign) generate(ctx, stop context.Context, jobs chan<- job) {
	defer close(jobs)
	send := func(j job) bool {
		if int64(j.index) > c.last.Load() {
			return false
		}
		select {
		case jobs <- j:
			return true
		case <-ctx.Done():
		case <-stop.Done():
		}
		return false
	}
	if c.cfg.Strategy == "sweep" {
		c.sweep(send)
		return
	}
	for i := c.from; i < c.cfg.Episodes && send(job{index: i}); i++ {
	}
}

func (c *campaign) work(stop context.Context, jobs <-chan job, dog *watchdog) {
	draws := newDraws(c.cfg.Strategy, c.cfg.Seed)
	servers := fakezk.New(fakezk.Config{})
	witness := c.newWitness()
	defer c.saw(witness)
	var before []made
	memory := newMemory()
	for j := range jobs {
		if stop.Err() != nil {
			return
		}
		if int64(j.index) > c.last.Load() {
			continue
		}
		source := j.source
		if source == nil {
			source = draws.source(uint64(j.index))
		}
		cfg := c.cfg.episode(source)
		if j.index < c.cfg.Audit {
			cfg.audit = digest.Mix(c.cfg.Seed^digest.Mix(uint64(j.index))) | 1
		}
		cfg.servers, cfg.made, cfg.memory, cfg.number, cfg.dog = servers, before, memory, j.index, dog
		cfg.witness = witness.next(j.index)
		o := runEpisode(c.workload, cfg)
		if c.rerunDue(j.index, o) {
			c.rerun(j.index, o, cfg)
		}
		before = o.made
		c.record(j.index, o)
	}
}

// record adds an episode to the result. The result does not depend on the order of the calls.
func (c *campaign) record(index int, o *outcome) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := &c.result
	r.Episodes++
	r.Steps += int64(o.steps)
	r.Operations += int64(len(o.ops))
	r.Refused += int64(o.Refused)
	r.AddNotJudged(o.NotJudged...)
	if o.Partly {
		r.Partly++
	}
	c.addLeft(o.wire, min(len(o.left), 1), o.left)
	r.Hash += digest.Mix(o.hash ^ digest.Mix(uint64(index)))
	for i, n := range o.struck {
		c.struck[i] += n
	}
	r.Sensitivity.add(o.sensitivity)
	if len(o.Violations) > 0 {
		c.failures++
	}
	if o.Unknown != "" && len(o.Violations) == 0 {
		c.unknown(index, o)
	}
	for _, v := range o.Violations {
		switch c.cfg.Until {
		case "":
			c.keep(index, o, v)
		case v.Property:
			c.keepFirst(index, o, v)
		}
	}
}

// addLeft notes episodes over the wire, and how many of them have left goroutines behind: there cannot be many.
func (c *campaign) addLeft(wire bool, left int, at string) {
	r := &c.result
	r.Wire = r.Wire || wire
	r.Left, r.LeftAt = r.Left+left, cmp.Or(r.LeftAt, at)
	if r.Left >= leftMax && c.tooMany == "" {
		c.last.Store(-1)
		c.tooMany = tooManyLeft(at)
	}
}

// keepFirst keeps the first episode that broke a property.
func (c *campaign) keepFirst(index int, o *outcome, v Violation) {
	if int64(index) >= c.last.Load() {
		return
	}
	c.last.Store(int64(index))
	choices := slices.Clone(o.choices)
	c.found[v.Property] = &candidate{first: index, times: 1, episode: index, violation: v, choices: choices}
}

// unknown notes an episode that could not be judged; the first one's reason is kept.
func (c *campaign) unknown(index int, o *outcome) {
	c.result.Undecided++
	if c.result.Reason == "" || index < c.firstUnknown {
		c.firstUnknown = index
		c.result.Reason = fmt.Sprintf("episode %d could not be judged: %s", index, o.Unknown)
		c.result.Disputed = o.Disputed
	}
}

// keep keeps, for each property, the simplest episode that broke it, in whatever order episodes end.
func (c *campaign) keep(index int, o *outcome, v Violation) {
	f := c.found[v.Property]
	if f == nil {
		f = &candidate{first: index}
		c.found[v.Property] = f
	}
	f.times++
	f.first = min(f.first, index)
	price := append(cost(o), index)
	if f.price != nil && slices.Compare(f.price, price) <= 0 {
		return
	}
	f.price, f.violation, f.choices, f.episode = price, v, slices.Clone(o.choices), index
}

// candidate is the simplest known episode that breaks a property.
type candidate struct {
	first, times int
	episode      int
	violation    Violation
	choices      Choices
	price        []int
}

// finish minimises what was found and sums up.
func (c *campaign) finish(ctx context.Context) Result {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := &c.result
	r.Struck = c.struckByName()
	c.solo = newSolo(c.workload, c.cfg)
	defer c.solo.end()
	for _, property := range slices.Sorted(maps.Keys(c.found)) {
		f := c.found[property]
		found := Found{Violation: f.violation, Episode: f.first, Times: f.times, Choices: f.choices}
		if c.frozen == "" {
			c.minimise(&found)
		}
		r.Violations = append(r.Violations, found)
	}
	RootFirst(c.workload, r.Violations)
	c.explainRerun()
	c.conclude(ctx)
	if c.seen != nil && c.frozen == "" {
		r.Coverage = c.seen.coverage(r.Episodes)
	}
	r.Extent = c.extent()
	r.Elapsed = time.Since(c.begin)
	return *r
}

// AddNotJudged notes that properties could not be judged.
func (r *Result) AddNotJudged(properties ...string) {
	for _, p := range properties {
		if i, noted := slices.BinarySearch(r.NotJudged, p); !noted {
			r.NotJudged = slices.Insert(r.NotJudged, i, p)
		}
	}
}

// struckByName counts the faults that may strike.
func (c *campaign) struckByName() map[string]int {
	struck := map[string]int{}
	for f := range c.cfg.Faults.Each() {
		struck[f.String()] = c.struck[f.index()]
	}
	return struck
}

func (c *campaign) conclude(ctx context.Context) {
	r := &c.result
	r.Interrupted = r.Episodes < c.cfg.Episodes && ctx.Err() != nil && c.cfg.Duration == 0
	switch {
	case len(r.Violations) > 0:
		r.Verdict = VerdictViolation
	case c.frozen != "" || c.tooMany != "":
		r.Verdict, r.Reason = VerdictUnknown, cmp.Or(c.frozen, c.tooMany)
	case r.Undecided > 0:
		r.Verdict = VerdictUnknown
	case c.search != nil && !c.search.complete:
		r.Verdict, r.Reason = VerdictUnknown, c.search.extent().String()
	case r.Episodes == 0:
		r.Verdict, r.Reason = VerdictUnknown, "no episode was run"
	}
}
