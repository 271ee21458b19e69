package sim

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/internal/resource"
	"github.com/zktorture/zktorture/sim/internal/bubble"
	"github.com/zktorture/zktorture/sim/internal/cover"
	"github.com/zktorture/zktorture/sim/internal/draw"
	"github.com/zktorture/zktorture/sim/internal/runner"
	"github.com/zktorture/zktorture/sim/replay"
	"github.com/zktorture/zktorture/sim/tally"
	"github.com/zktorture/zktorture/sim/world"
)

// Config says how to run a campaign. The zero value is usable: 1000 episodes of up to three clients, with all faults that
// are not rare.
type Config struct {
	Strategy string // one of [Strategies]; default "random"
	Episodes int    // number of episodes; 0: until Duration is over, or 1000 if Duration is 0, too
	Duration time.Duration
	Seed     uint64
	Faults   world.Faults // what may strike; default [world.UsualFaults]; see NoFaultsAtAll for the empty set
	Clients  int          // the most clients of an episode; default 3
	Ops      int          // the most operations of a user; default 4
	Workers  int          // episodes under way at the same time; default: GOMAXPROCS

	// NoFaultsAtAll makes the zero Faults mean none rather than the default.
	NoFaultsAtAll bool
	// Progress, if set, is called about ten times a second, and at the end of the last episode.
	Progress func(Progress)
	// Once is for exact builds, which run all passing episodes twice and compare. With Once they do as other builds do,
	// and run only a share of them twice. See [Exact].
	Once bool
	// Elsewhere, if set, runs some episodes of a random campaign in another process, by [Config.RunPart]; it is called by
	// Workers goroutines at the same time. An error ends the campaign.
	Elsewhere func(ctx context.Context, from, episodes int) (tally.Part, error)
	// Coverage notes in which ways faults could strike, and in which they did, see [Coverage].
	Coverage bool
	// Near are the counterexamples that episodes of strategy "near" begin like. They are of this recipe or of others of
	// its kind, found in a build that is [Exact] if this one is. Choices that do not fit an episode are replaced by the
	// nearest ones.
	Near []world.Choices
	// Found, if set, is called when a property breaks for the first time, while the campaign goes on: by one goroutine at
	// a time. Which episode that is may depend on the machine.
	Found func(episode int, v world.Violation)
	// NoShrink leaves counterexamples as they were found.
	NoShrink bool
	// ShrinkTime bounds the minimising of all counterexamples together, the likely root first: this much time has to
	// pass, and this much processor time of the process, so that other programs change nothing. By default there is no
	// limit. What was not finished then says so, [Found.Unfinished]; nothing else depends on the machine.
	ShrinkTime time.Duration
	// Until, if set, is the only property that counts, and the campaign ends with the first episode that breaks it; with
	// [tally.AnyProperty] all count, it ends a moment after the first that breaks any, and of what broke till then only that is
	// minimised which comes first. (Which episodes these are depends on the seed alone; the sums of the result also cover those
	// that had begun.)
	Until string
}

// Progress is how far a campaign is.
type Progress struct {
	Episodes, Of int
	Operations   int64
	Struck       map[string]int // times each fault struck
	Violations   int            // episodes in which a property broke
	Elapsed      time.Duration
	Minimising   *Minimising   // nil while episodes are run
	Away         time.Duration // on real servers: since when none answers, if none does
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
	Workload string `json:"workload"`
	Recipe   string `json:"recipe"`
	Strategy string `json:"strategy"`
	Seed     uint64 `json:"seed"`
	tally.Counts
	Asked        int            `json:"asked,omitempty"` // how many episodes were asked for; 0 if no number was
	Short        string         `json:"short,omitempty"` // why they are fewer, or why the run ended early; else ""
	Struck       map[string]int `json:"faults"`          // times each fault struck
	Verdict      Verdict        `json:"verdict"`
	Reason       string         `json:"reason,omitempty"` // why unknown
	Interrupted  bool           `json:"interrupted,omitempty"`
	Coverage     cover.Coverage `json:"coverage,omitzero"`       // nil unless [Config.Coverage] asks for it
	Explored     *Explored      `json:"explored,omitempty"`      // which executions [Explore] has run
	Waived       []string       `json:"waived,omitempty"`        // properties that the recipe does not promise: see [world.Terms]
	Grants       int64          `json:"grants,omitempty"`        // on real servers: grants that last as long as a session
	GrantsJudged int64          `json:"grants_judged,omitempty"` // those of the grants whose session was known
	Away         int            `json:"away,omitempty"`          // on real servers: times when none answered, without a fault of the run's
	Lost         int            `json:"lost,omitempty"`          // and episodes in which clients lost a connection, likewise

	Violations []Found       `json:"-"` // one for each property, the likely root first: see [RootFirst]
	Unshrunk   bool          `json:"-"` // they are as they were found: [Config.NoShrink]
	Recovery   time.Duration `json:"-"` // on real servers: the longest that clients needed to reach them after all faults
	// AwayLongest is the longest time of those of Away.
	AwayLongest time.Duration `json:"-"`
	Elapsed     time.Duration `json:"-"`
	Running     time.Duration `json:"-"` // of Elapsed: until the episodes were run, and minimising began
}

// Found is a violation with what is needed to see it again.
type Found struct {
	world.Violation
	Episode int // in which it was found first, -1 by [Explore]; how often it was found is Times
	Times   int
	Clients int
	Faults  int
	Steps   int          // of the torture phase
	Rare    world.Faults // of strategy stages: the rare faults of its run, without which it was not found
	Choices world.Choices
	Hash    uint64
	Trace   []world.Step
	History any // what the clients saw

	Unfinished string             // why it may not be minimal, see [Config.ShrinkTime]; "" if it was minimised, or was not to be
	Wire       bool               // see [world.WireNote]
	Divergence *replay.Divergence // if equal choices gave different runs: then the trace need not show the violation
}

// ErrConfig is the error of a campaign that cannot be run as asked for.
var ErrConfig = runner.ErrTerms

// endless stands for the number of episodes of a run that ends by something else.
const endless = min(1<<40, math.MaxInt)

// WithDefaults returns the configuration with its defaults, and an error for one that cannot be run.
func (cfg Config) WithDefaults() (Config, error) {
	cfg.Strategy = cmp.Or(cfg.Strategy, "random")
	if err := draw.CheckStrategy(cfg.Strategy); err != nil {
		return cfg, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	if cfg.Duration == 0 {
		cfg.Episodes = cmp.Or(cfg.Episodes, 1000)
	}
	cfg.Episodes = cmp.Or(cfg.Episodes, endless)
	if cfg.Faults == 0 && !cfg.NoFaultsAtAll {
		cfg.Faults = world.UsualFaults
	}
	if (cfg.Strategy == draw.Near) != (len(cfg.Near) > 0) {
		return cfg, fmt.Errorf("%w: episodes like which others begin, of which there are %d, are for strategy %s, which needs "+
			"at least one", ErrConfig, len(cfg.Near), draw.Near)
	}
	cfg.Workers = cmp.Or(cfg.Workers, runtime.GOMAXPROCS(0))
	terms, err := cfg.terms(tally.Unnumbered).WithDefaults()
	cfg.Clients, cfg.Ops = terms.Clients, terms.Ops
	return cfg, err
}

// terms are those of an episode: what all episodes have in common, and which faults may strike in this one.
func (cfg Config) terms(episode int) runner.Terms {
	return runner.Terms{Faults: draw.Allowed(cfg.Strategy, episode, cfg.Faults), Clients: cfg.Clients, Ops: cfg.Ops}
}

func (cfg Config) episode(number int, source world.Source) *runner.Episode {
	e := cfg.terms(number).Episode(source)
	if number >= 0 {
		e.Label = fmt.Sprintf("seed %d, episode %d", cfg.Seed, number+1)
	}
	return e
}

// Run runs a campaign: many episodes of a workload. When ctx ends it stops with the result so far. The error is for
// campaigns that cannot be run; violations are in the result.
func Run(ctx context.Context, workload world.Workload, config Config) (Result, error) {
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

func newCampaign(workload world.Workload, config Config) (*campaign, error) {
	cfg, err := config.WithDefaults()
	if err != nil {
		return nil, err
	}
	c := &campaign{ctx: context.Background(), workload: workload, cfg: cfg, begin: time.Now(), left: runner.NewLeavings()}
	c.part = tally.Part{Of: c.of(), Struck: make([]int, world.FaultCount)}
	if cfg.Coverage {
		c.part.Seen = cover.Coverage{}
	}
	c.last.Store(math.MaxInt64)
	return c, nil
}

// campaign is a Run under way.
type campaign struct {
	ctx      context.Context // ends when the campaign is interrupted
	workload world.Workload
	cfg      Config
	begin    time.Time
	from     int // the first episode

	telling sync.Mutex // is locked before mu, while Config.Found is called

	mu     sync.Mutex
	part   tally.Part     // what came of the episodes so far
	serial *runner.Serial // for what is run again
	left   runner.Leavings
	due    resource.Limit // of minimising; zero: none, or it has not begun

	last atomic.Int64 // no episode after this one need be run
}

func (c *campaign) run(ctx context.Context) {
	jobs := make(chan int, 64) // episodes, by number
	stop, halt := context.WithCancel(context.Background())
	defer halt()
	var next atomic.Int64
	work := func(dog *runner.Watchdog) { bubble.WithRoom(func() { c.work(stop, jobs, dog) }) }
	if c.cfg.Elsewhere != nil {
		work = func(*runner.Watchdog) { c.workElsewhere(ctx, stop, &next) }
	} else {
		go c.generate(ctx, stop, jobs)
	}
	c.freeze(runner.Guard(c.ctx, c.cfg.Workers, work, c.progress, halt))
}

// freeze notes why a world of the campaign stands still, if it is not "".
func (c *campaign) freeze(why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.part.Frozen = tally.Least(c.part.Frozen, why)
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
func (c *campaign) generate(ctx, stop context.Context, jobs chan<- int) {
	defer close(jobs)
	for i := c.from; i < c.cfg.Episodes && int64(i) <= c.last.Load(); i++ {
		select {
		case jobs <- i:
		case <-ctx.Done():
			return
		case <-stop.Done():
			return
		}
	}
}

func (c *campaign) work(stop context.Context, jobs <-chan int, dog *runner.Watchdog) {
	draws := draw.New(c.cfg.Strategy, c.cfg.Seed, c.cfg.Near)
	servers := fakezk.New(fakezk.Config{})
	observer := c.newObserver()
	defer c.saw(observer)
	memory := world.NewMemory()
	for index := range jobs {
		if stop.Err() != nil {
			return
		}
		if int64(index) > c.last.Load() {
			continue
		}
		cfg := c.cfg.episode(index, draws.Source(uint64(index)))
		cfg.Servers, cfg.Memory, cfg.Dog = servers, memory, dog
		cfg.Observers = observer.Next(index)
		o := runner.Run(c.workload, cfg)
		if o.Aborted == runner.ErrInterrupted {
			return
		}
		passes := len(o.Violations) == 0 && o.Unknown == ""
		if passes && (index%rerunShare == 0 || bubble.Exact && !c.cfg.Once) { // in exact mode all are run again
			c.rerun(index, o, cfg)
		}
		c.record(index, o)
	}
}

// record adds an episode. What comes of the campaign does not depend on the order of the calls.
func (c *campaign) record(index int, o *world.Run) {
	c.telling.Lock()
	defer c.telling.Unlock()
	c.mu.Lock()
	known := c.part.Properties()
	c.part.Record(index, o, c.cfg.Until)
	c.part.Ended = tally.Least(c.part.Ended, o.Outside)
	if o.Leaked && c.part.Ended == "" && c.left.TooMuch() {
		c.part.Ended = c.left.String()
	}
	c.bound()
	found := c.part.FoundBeside(known)
	c.mu.Unlock()
	c.tell(found)
}

// tell tells what was found.
func (c *campaign) tell(found []tally.Episode) {
	if c.cfg.Found == nil {
		return
	}
	for _, f := range found {
		c.cfg.Found(f.Episode, world.Violation{Property: f.Property, Message: f.Message})
	}
}

// bound notes after which episode none need be run. Over the wire there cannot be many that leave goroutines behind.
func (c *campaign) bound() {
	p := &c.part
	switch {
	case p.Frozen != "" || p.Ended != "":
		c.last.Store(-1)
	case p.Wire && p.Left >= runner.LeftMax:
		p.Ended = runner.TooManyLeft(p.LeftAt)
		c.last.Store(-1)
	case c.cfg.Until == tally.AnyProperty && len(p.Found) > 0:
		c.last.Store(int64(p.First() + moment))
	case c.cfg.Until != "" && len(p.Found) > 0:
		c.last.Store(int64(p.First()))
	case c.doubtful():
		c.last.Store(-1)
	}
}

// moment is how many episodes are run after the first that breaks anything, where nothing but the gravest is told in full. In
// process that takes a tenth of a second.
const moment = 200

// undecidedMax is how many episodes may be undecided before there is no use in looking for the first that breaks
// anything: each may have taken seconds.
const undecidedMax = 10

func (c *campaign) doubtful() bool {
	return c.cfg.Until == tally.AnyProperty && c.part.Undecided >= undecidedMax
}

// conclude minimises what was found and sums up.
func (c *campaign) conclude(ctx context.Context) Result {
	c.mu.Lock()
	defer c.mu.Unlock()
	running := time.Since(c.begin)
	c.serial = runner.NewSerial(ctx, c.workload)
	c.serial.Left = c.left
	p, interrupted := &c.part, ctx.Err() != nil
	r := Result{
		Unshrunk: c.cfg.NoShrink,
		Workload: c.workload.Name(), Recipe: c.workload.Recipe(), Strategy: c.cfg.Strategy, Seed: c.cfg.Seed,
		Counts: p.Counts, Struck: c.struckByName(), Reason: p.Reason(), Violations: c.violations(),
		Waived: c.workload.Terms().Waived,
	}
	r.Rerun.First = c.explainRerun()
	if p.Seen != nil && p.Frozen == "" {
		r.Coverage = p.Seen
	}
	c.short(&r, interrupted)
	c.judge(&r)
	r.Elapsed, r.Running = time.Since(c.begin), running
	return r
}

// short says how many episodes were asked for, and why fewer were run.
func (c *campaign) short(r *Result, interrupted bool) {
	r.Interrupted = r.Episodes < c.cfg.Episodes && interrupted
	if c.cfg.Episodes < endless {
		r.Asked = c.cfg.Episodes
	}
	switch p := &c.part; {
	case p.Frozen != "" || p.Ended != "":
		r.Short = cmp.Or(p.Frozen, p.Ended)
	case r.Episodes >= c.cfg.Episodes || c.cfg.Until != "" && len(p.Found) > 0:
	case c.doubtful():
		r.Short = fmt.Sprintf("%d could not be judged", p.Undecided)
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
	broken := c.part.Found
	if c.cfg.Until == tally.AnyProperty {
		broken = c.part.Within(moment)
	}
	for _, f := range broken {
		found := Found{
			Violation: world.Violation{Property: f.Property, Message: f.Message}, Episode: f.First, Times: max(f.Times, 1),
			Choices: f.Choices, Rare: c.rare(c.cfg.terms(f.First).Faults),
		}
		if len(f.Price) > 1 {
			found.Faults, found.Steps = f.Price[3], f.Price[5]
		}
		all = append(all, found)
	}
	RootFirst(c.workload, all)
	if c.cfg.Until == tally.AnyProperty && len(all) > 0 {
		c.minimise(&all[0])
		return all
	}
	for i := range all {
		c.minimise(&all[i])
	}
	RootFirst(c.workload, all)
	return all
}

// rare are those of some faults that come last.
func (c *campaign) rare(faults world.Faults) world.Faults {
	if c.cfg.Strategy != draw.Stages {
		return world.NoFaults
	}
	return faults & world.Rare
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
	case r.Episodes == 0:
		r.Verdict, r.Reason = VerdictUnknown, nothingRun
	}
}

// NotTried says which rare faults could not strike although all others could; "" if there are none.
func (r *Result) NotTried() string {
	var rare []string
	for f := range world.AllFaults.Each() {
		if _, may := r.Struck[f.String()]; !may && !world.Rare.Has(f) {
			return ""
		} else if !may {
			rare = append(rare, f.String())
		}
	}
	if len(rare) == 0 {
		return ""
	}
	return "not tried: " + strings.Join(rare, ", ") + " (rare)"
}

const nothingRun = "no episode was run"

// AddNotJudged notes that properties could not be judged.
func (r *Result) AddNotJudged(properties ...string) {
	r.NotJudged = tally.WithNames(r.NotJudged, properties...)
}

// struckByName counts the faults that may strike.
func (c *campaign) struckByName() map[string]int {
	struck := map[string]int{}
	for f := range c.cfg.Faults.Each() {
		struck[f.String()] = c.part.Struck[f.Index()]
	}
	return struck
}

// newObserver returns the observer of a worker, nil if nobody wants to know what was seen.
func (c *campaign) newObserver() *cover.Observer {
	if c.part.Seen == nil {
		return nil
	}
	return cover.NewObserver()
}

// saw adds what a worker has seen to the campaign's.
func (c *campaign) saw(k *cover.Observer) {
	if k == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.part.Seen.Add(k.Coverage())
}

// RootFirst sorts the violations of a campaign in the order in which to fix them. First comes the gravest, by
// [world.Gravity]; of several as grave the likely root: of those that follow from no other, as the workload says, the most
// frequent one, then the one with the fewest steps, then the fewest faults, then the one found first. The others are sorted in
// the same way. What needs [Found.Rare] comes last.
func RootFirst(w world.Workload, found []Found) {
	rest := slices.Clone(found)
	slices.SortStableFunc(rest, simplest)
	for i := range found {
		root := max(0, slices.IndexFunc(rest, func(f Found) bool { return !followsFromAny(w, f, rest) }))
		found[i] = rest[root]
		rest = slices.Delete(rest, root, root+1)
	}
}

func simplest(a, b Found) int {
	return cmp.Or(byRarity(a, b), cmp.Compare(world.Gravity(a.Property), world.Gravity(b.Property)), cmp.Compare(b.Times, a.Times),
		cmp.Compare(a.Steps, b.Steps), cmp.Compare(a.Faults, b.Faults), cmp.Compare(a.Episode, b.Episode))
}

func byRarity(a, b Found) int { return min(int(a.Rare), 1) - min(int(b.Rare), 1) }

func followsFromAny(w world.Workload, f Found, causes []Found) bool {
	follows := w.Terms().Follows
	return follows != nil && slices.ContainsFunc(causes, func(cause Found) bool {
		return byRarity(cause, f) <= 0 && follows(f.Property, cause.Property)
	})
}
