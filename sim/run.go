package sim

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"runtime"
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
	Episodes int    // number of episodes; 0: until Duration is over, or 1000 if Duration is 0, too
	Duration time.Duration
	Seed     uint64
	Faults   Faults // what may strike; see NoFaultsAtAll for the empty set
	Clients  int    // the most clients of an episode; default 3
	Ops      int    // the most operations of a user; default 4
	Workers  int    // episodes under way at the same time; default: GOMAXPROCS

	// NoFaultsAtAll makes the zero Faults mean none rather than all.
	NoFaultsAtAll bool
	// Again is the command that runs a counterexample file again, FILE standing for its name; default
	// "torture replay FILE". It is shown when the process dies in the middle of an episode.
	Again string
	// Progress, if set, is called about ten times a second, and at the end of the last episode.
	Progress func(Progress)
	// Once is for exact builds, which run all passing episodes twice and compare. With Once they do as other builds do,
	// and run only a share of them twice. See [Exact].
	Once bool
	// Elsewhere, if set, runs some episodes of a random campaign in another process, by [RunPart]; it is called by
	// Workers goroutines at the same time. An error ends the campaign.
	Elsewhere func(ctx context.Context, from, episodes int) (Part, error)
	// Coverage measures how much of the world the episodes have shown, see [Coverage]. It keeps at most CoverageStates
	// of the states. If there are more it estimates their number, with a standard error of 1.2 divided by the root of
	// CoverageStates (Flajolet, Computing 43, 1990): 0.5 % with the default, 65,536; 2.7 % with 2,048. With 2,048 a
	// [Part] of a thousand episodes takes some 100 kB, and one of ten thousand 150 kB.
	Coverage       bool
	CoverageStates int
	// Near are the counterexamples that episodes of strategy "near" begin like. They are of this recipe or of others of
	// its kind, found in a build that is [Exact] if this one is. Choices that do not fit an episode are replaced by the
	// nearest ones.
	Near []Choices
	// Found, if set, is called when a property breaks for the first time, while the campaign goes on: by one goroutine at
	// a time. Which episode that is may depend on the machine.
	Found func(episode int, v Violation)
	// NoShrink leaves counterexamples as they were found.
	NoShrink bool
	// ShrinkTime is how long minimising may take, for all counterexamples together, the likely root first; by default
	// there is no limit. What was not finished then says so, [Found.Unfinished]; nothing else depends on the machine.
	ShrinkTime time.Duration
	// Audit is the number of episodes, counted from the first, on which the checker's sensitivity is measured if
	// nothing broke in them, see [Sensitivity].
	Audit int
	// Until, if set, is the only property that counts, and the campaign ends with the first episode that breaks it.
	// (That episode depends on the seed alone; the sums of the result also cover those that had begun.)
	Until string

	// For strategy "exhaustive": the most faults that strike, and the most users of a client; default 1. Episodes is then
	// the most runs, by default without limit, and Clients and Ops are exact bounds, by default 2 and 1.
	AtMost, Users int
	// Whole lets a search go on after a violation, to find every property that breaks; Backwards takes the options of
	// each choice in the other order; Without leaves reductions out. A search that comes to its end finds the same.
	Whole, Backwards bool
	Without          Reductions
	// Shares is the number of shares that a search is cut into, and Share, from 0, the one to search; with 0 or 1 shares
	// all is searched. The plans of episodes are dealt to shares by their hashes, so a search of one plan (Plain) is the
	// work of one share. A share goes on after a violation, as Whole says: what the shares find adds up to what a Whole
	// search finds.
	Share, Shares int
	// Plain searches only one plan. It has the most clients and turns, and a fresh operation of each user at the end. The
	// kind has a list of parts for users ([Plan.Part]); each user plays the part at its own place in the list, and does
	// all else as simply as possible.
	Plain bool
	// Checkpoint, if set, is a file. A search saves its state there every ten seconds and when it ends early, and
	// continues from the file if it exists.
	Checkpoint string
}

// Progress is how far a campaign is.
type Progress struct {
	Episodes, Of int
	Operations   int64
	Struck       map[string]int // times each fault struck
	Violations   int            // episodes in which a property broke
	Elapsed      time.Duration
	Minimising   *Minimising // nil while episodes are run
}

// Minimising is how far a counterexample is minimised that is being minimised.
type Minimising struct {
	Property string
	Runs     int // so far
	Clients  int // of the smallest …
	Faults   int
	Steps    int
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
	Asked            int    // how many were asked for; 0 if no number was
	Short            string // why they are fewer, or why the run ended early; else ""
	Steps            int64
	Operations       int64
	Struck           map[string]int // times each fault struck
	Verdict          Verdict
	Undecided        int                        // episodes that could not be judged
	Reason           string                     // why unknown
	Disputed         map[string]json.RawMessage // see [Judgement.Disputed], of the episode that Reason is about
	Violations       []Found                    // one for each property, the likely root first: see [RootFirst]
	Unshrunk         bool                       // they are as they were found: [Config.NoShrink]
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
	Grants           int64         // on real servers: locks and the like that were granted, for as long as a session lasts …
	GrantsJudged     int64         // … and those of which that was known
	Recovery         time.Duration // on real servers: the longest that clients needed to reach them after all faults
	Hash             uint64        // covers every step of every episode
	Elapsed          time.Duration
	Interrupted      bool
	Extent           Extent
}

// Found is a violation with what is needed to see it again.
type Found struct {
	Violation
	Episode int // in which it was found first, -1 in a search; how often it was found is Times
	Times   int
	Clients int
	Faults  int
	Steps   int // of the torture phase
	Choices Choices
	Hash    uint64
	Trace   []Step
	History any // what the clients saw

	Unfinished string      // why it may not be minimal, see [Config.ShrinkTime]; "" if it was minimised, or was not to be
	Wire       bool        // see [WireNote]
	Divergence *Divergence // if equal choices gave different runs: then the trace need not show the violation
}

const clientsMax = 16

const stepsMax = 400 // of a torture phase; episodes rarely take a quarter of it

// ErrConfig is the error of a campaign that cannot be run as asked for.
var ErrConfig = errors.New("sim: cannot run")

// endless stands for the number of episodes of a run that ends by something else.
const endless = min(1<<40, math.MaxInt)

func (cfg Config) withDefaults() (Config, error) {
	cfg.Strategy = cmp.Or(cfg.Strategy, "random")
	if err := CheckStrategy(cfg.Strategy); err != nil {
		return cfg, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	cfg.Shares = cmp.Or(cfg.Shares, 1)
	if cfg.Strategy == Exhaustive {
		cfg.Clients, cfg.Ops = cmp.Or(cfg.Clients, 2), cmp.Or(cfg.Ops, 1)
		cfg.Episodes, cfg.Users = cmp.Or(cfg.Episodes, endless), cmp.Or(cfg.Users, 1)
		cfg.Whole = cfg.Whole || cfg.Shares > 1
	}
	if cfg.Duration == 0 {
		cfg.Episodes = cmp.Or(cfg.Episodes, 1000)
	}
	cfg.Episodes = cmp.Or(cfg.Episodes, endless)
	if cfg.Faults == 0 && !cfg.NoFaultsAtAll {
		cfg.Faults = AllFaults
	}
	if cfg.AtMost < 0 || cfg.AtMost > atMostMax || cfg.Users < 0 || cfg.Users > 2 {
		return cfg, fmt.Errorf("%w: %d faults at most and %d users of a client: 0 to %d and 1 or 2 are possible",
			ErrConfig, cfg.AtMost, cfg.Users, atMostMax)
	}
	if (cfg.Strategy == Near) != (len(cfg.Near) > 0) {
		return cfg, fmt.Errorf("%w: episodes like which others begin, of which there are %d, are for strategy %s, which needs "+
			"at least one", ErrConfig, len(cfg.Near), Near)
	}
	if cfg.Share < 0 || cfg.Share >= cfg.Shares || cfg.Shares > 1 && cfg.Strategy != Exhaustive {
		return cfg, fmt.Errorf("%w: share %d of %d of strategy %s: shares are of strategy %s, and counted from 0", ErrConfig,
			cfg.Share, cfg.Shares, cfg.Strategy, Exhaustive)
	}
	if cfg.CoverageStates = cmp.Or(cfg.CoverageStates, statesMax); cfg.CoverageStates < 1 {
		return cfg, fmt.Errorf("%w: %d states of the coverage", ErrConfig, cfg.CoverageStates)
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
	c.ctx = ctx
	if d := c.cfg.Duration; d > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d)
		defer cancel()
	}
	c.run(ctx)
	c.progress()
	return c.conclude(c.ctx), nil
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
	c := &campaign{ctx: context.Background(), workload: workload, cfg: cfg, begin: time.Now()}
	c.part = Part{Of: c.of(), Struck: make([]int, faultCount)}
	if cfg.Coverage {
		c.part.Seen = newSights(cfg.CoverageStates)
	}
	c.last.Store(math.MaxInt64)
	return c, nil
}

// campaign is a Run under way.
type campaign struct {
	ctx      context.Context // ends when the campaign is interrupted
	workload Workload
	cfg      Config
	begin    time.Time
	from     int // the first episode

	telling sync.Mutex // is locked before mu, while Config.Found is called

	mu   sync.Mutex
	part Part      // what came of the episodes so far
	solo *solo     // for what is run again
	due  time.Time // when minimising must end; zero: never, or it has not begun

	last atomic.Int64 // no episode after this one need be run

	search *search // of strategy exhaustive
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
	} else if c.cfg.Elsewhere != nil {
		work = func(*watchdog) { c.workElsewhere(ctx, stop, &next) }
	} else {
		go c.generate(ctx, stop, jobs)
	}
	c.freeze(guard(c.ctx, c.workload, c.cfg, workers, work, c.progress, halt))
	if c.search != nil {
		c.part.Search = c.search.reached()
	}
}

// freeze notes why a world of the campaign stands still, if it is not "".
func (c *campaign) freeze(why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.part.Frozen = least(c.part.Frozen, why)
	c.bound()
}

func (c *campaign) progress() {
	if c.cfg.Progress == nil {
		return
	}
	c.mu.Lock()
	p := c.reached()
	c.mu.Unlock()
	c.cfg.Progress(p)
}

// reached is the progress. mu is held.
func (c *campaign) reached() Progress {
	return Progress{
		Episodes: c.part.Episodes, Of: c.cfg.Episodes, Operations: c.part.Operations, Struck: c.struckByName(),
		Violations: c.part.Failures, Elapsed: time.Since(c.begin),
	}
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
	if c.cfg.Strategy == Sweep {
		c.sweep(ctx, send)
		return
	}
	for i := c.from; i < c.cfg.Episodes && send(job{index: i}); i++ {
	}
}

func (c *campaign) work(stop context.Context, jobs <-chan job, dog *watchdog) {
	draws := newDraws(c.cfg.Strategy, c.cfg.Seed, c.cfg.Near)
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
		if o.aborted == errInterrupted {
			return
		}
		if c.rerunDue(j.index, o) {
			c.rerun(j.index, o, cfg)
		}
		before = o.made
		c.record(j.index, o)
	}
}

// record adds an episode. What comes of the campaign does not depend on the order of the calls.
func (c *campaign) record(index int, o *outcome) {
	c.telling.Lock()
	defer c.telling.Unlock()
	c.mu.Lock()
	known := c.part.properties()
	c.part.record(index, o, c.cfg.Until)
	c.part.Ended = least(c.part.Ended, o.outside)
	if o.leaked && c.part.Ended == "" && leftTooMuch() {
		c.part.Ended = heavyLeft()
	}
	c.bound()
	found := c.part.foundBeside(known)
	c.mu.Unlock()
	c.tell(found)
}

// tell tells what was found.
func (c *campaign) tell(found []PartEpisode) {
	if c.cfg.Found == nil {
		return
	}
	for _, f := range found {
		c.cfg.Found(f.Episode, Violation{Property: f.Property, Message: f.Message})
	}
}

// bound notes after which episode none need be run. Over the wire there cannot be many that leave goroutines behind.
func (c *campaign) bound() {
	p := &c.part
	switch {
	case p.Frozen != "" || p.Ended != "":
		c.last.Store(-1)
	case p.Wire && p.Left >= leftMax:
		p.Ended = tooManyLeft(p.LeftAt)
		c.last.Store(-1)
	case c.cfg.Until != "" && len(p.Found) > 0:
		c.last.Store(int64(p.Found[0].Episode))
	}
}

// conclude minimises what was found and sums up.
func (c *campaign) conclude(ctx context.Context) Result {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.solo = newSolo(ctx, c.workload, c.cfg)
	defer c.solo.end()
	p, interrupted := &c.part, ctx.Err() != nil
	r := Result{
		Unshrunk: c.cfg.NoShrink,
		Workload: c.workload.Name(), Recipe: c.workload.Recipe(), Strategy: c.cfg.Strategy, Seed: c.cfg.Seed,
		Episodes: p.Episodes, Steps: p.Steps, Operations: p.Operations, Struck: c.struckByName(), Undecided: p.Undecided,
		Reason: p.reason(), Disputed: p.Disputed, Violations: c.violations(), Sensitivity: p.Sensitivity, Rerun: p.Rerun,
		NotJudged: p.NotJudged, Wire: p.Wire, Left: p.Left, LeftAt: p.LeftAt, Partly: p.Partly, Refused: p.Refused,
		Hash: p.Hash, Extent: p.extent(c.cfg.Shares),
	}
	if w, can := c.workload.(Waiver); can {
		r.Waived = w.Waived()
	}
	r.Rerun.First = c.explainRerun()
	if p.Seen != nil && p.Frozen == "" {
		r.Coverage = p.Seen.coverage(p.Episodes)
	}
	c.short(&r, interrupted)
	c.judge(&r)
	r.Elapsed = time.Since(c.begin)
	return r
}

// short says how many episodes were asked for, and why fewer were run.
func (c *campaign) short(r *Result, interrupted bool) {
	r.Interrupted = r.Episodes < c.cfg.Episodes && interrupted
	if c.cfg.Strategy == Exhaustive {
		return // its Extent says that
	}
	if c.cfg.Episodes < endless {
		r.Asked = c.cfg.Episodes
	}
	switch p := &c.part; {
	case p.Frozen != "" || p.Ended != "":
		r.Short = cmp.Or(p.Frozen, p.Ended)
	case r.Episodes >= c.cfg.Episodes || c.cfg.Until != "" && len(p.Found) > 0:
	case interrupted:
		r.Short = "interrupted"
	case r.Asked > 0 && c.cfg.Duration > 0:
		r.Short = fmt.Sprintf("the %v were over", c.cfg.Duration)
	case r.Asked > 0:
		r.Short = "no more are in the sum" // of parts
	}
}

// violations are what was found, made small, the likely root first.
func (c *campaign) violations() (all []Found) {
	for _, f := range c.part.Found {
		found := Found{
			Violation: Violation{Property: f.Property, Message: f.Message}, Episode: f.First, Times: max(f.Times, 1),
			Choices: f.Choices,
		}
		if len(f.Price) > 1 {
			found.Faults, found.Steps = f.Price[2], f.Price[4]
		}
		all = append(all, found)
	}
	RootFirst(c.workload, all)
	for i := range all {
		c.minimise(&all[i])
	}
	RootFirst(c.workload, all)
	return all
}

// judge says what the result is worth.
func (c *campaign) judge(r *Result) {
	r.Verdict = VerdictOK
	switch p := &c.part; {
	case len(r.Violations) > 0:
		r.Verdict = VerdictViolation
	case p.Frozen != "" || p.Ended != "":
		r.Verdict, r.Reason = VerdictUnknown, cmp.Or(p.Frozen, p.Ended)
	case r.Undecided > 0:
		r.Verdict = VerdictUnknown
	case r.Extent.Word == ExtentBounded:
		r.Verdict, r.Reason = VerdictUnknown, r.Extent.String()
	case r.Episodes == 0:
		r.Verdict, r.Reason = VerdictUnknown, "no episode was run"
	}
}

// AddNotJudged notes that properties could not be judged.
func (r *Result) AddNotJudged(properties ...string) {
	r.NotJudged = withNames(r.NotJudged, properties...)
}

// struckByName counts the faults that may strike.
func (c *campaign) struckByName() map[string]int {
	struck := map[string]int{}
	for f := range c.cfg.Faults.Each() {
		struck[f.String()] = c.part.Struck[f.index()]
	}
	return struck
}
