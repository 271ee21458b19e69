package sim

import (
	"cmp"
	"fmt"
	"runtime"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/zktorture/zktorture/fakezk"
)

// Option changes how [Check] and [Property] run.
type Option func(*checkConfig)

type checkConfig struct {
	Config
	seeded bool
}

// WithFaults says which faults may strike; the default is all.
func WithFaults(f Faults) Option {
	return func(c *checkConfig) { c.Faults, c.NoFaultsAtAll = f, true }
}

// WithClients says how many clients there may be, 1 to 16; the default is 3.
func WithClients(n int) Option { return func(c *checkConfig) { c.Clients = n } }

// WithOps says how many operations a user may do, 1 to 100; the default is 4.
func WithOps(n int) Option { return func(c *checkConfig) { c.Ops = n } }

// WithEpisodes says how many episodes are run; the default is 2000. The flag -rapid.checks of the
// test binary, if given, comes first.
func WithEpisodes(n int) Option { return func(c *checkConfig) { c.Episodes = n } }

// WithSeed makes the test draw the same episodes each time. The flag -rapid.seed, if given, comes first.
func WithSeed(seed uint64) Option {
	return func(c *checkConfig) { c.Seed, c.seeded = seed, true }
}

// WithStrategy selects a strategy other than random; random is the one that rapid can shrink, so
// for any other Check runs a campaign of [Run] and reports its first counterexample.
func WithStrategy(name string) Option { return func(c *checkConfig) { c.Strategy = name } }

const episodesDefault = 2000

// Check runs a workload through many simulated episodes and fails the test with the smallest story of a broken
// property that it finds. Every choice is drawn through rapid, so a failure leaves a fail file that the next run
// tries first, and -rapid.checks=N sets the number of episodes. A failure is made as small as [Run] makes its
// counterexamples; rapid itself shrinks only if -rapid.shrinktime says so.
//
// A pass is logged, for go test -v, with its [Coverage].
//
// The story comes first, then where its page is (see [Teller]), then rapid's messages. With the flag
// -zktorture.replay=FILE nothing is drawn: the run in the file is run again.
func Check(t *testing.T, w Workload, opts ...Option) {
	t.Helper()
	c := checkConfig{Config: Config{Episodes: episodesDefault}}
	for _, o := range opts {
		o(&c)
	}
	cfg, err := c.withDefaults()
	switch {
	case err != nil:
		t.Fatal(err)
	case *replayFile != "":
		checkAgain(t, w, *replayFile)
	case cfg.Strategy != "random":
		checkByRun(t, w, cfg)
	default:
		c.Config = cfg
		checkByRapid(t, w, c)
	}
}

func checkByRapid(t *testing.T, w Workload, c checkConfig) {
	t.Helper()
	flags := map[string]string{"rapid.checks": fmt.Sprint(c.Episodes)}
	if c.seeded {
		flags["rapid.seed"] = fmt.Sprint(max(c.Seed, 1))
	}
	c.Again = goTest(t.Name()) + " -zktorture.replay=FILE"
	p := &property{workload: w, cfg: c.Config, solo: newSolo(w, c.Config), due: hurry(t), witness: newWitness(statesMax)}
	defer p.solo.end()
	p.flags = setFlags(flags)
	said, failed := underRapid(t, p.run)
	p.flags()
	told := p.tell(t)
	switch {
	case failed && !told:
		t.Error(said)
	case said != "":
		t.Log(said)
	}
	if failed || told {
		t.FailNow()
	}
	t.Log(p.witness.sights().coverage(p.episodes))
}

// hurry returns when to stop looking, so that time is left to tell what was found; zero if there is no need to stop.
func hurry(t *testing.T) time.Time {
	end, ok := t.Deadline()
	if !ok {
		return time.Time{}
	}
	return end.Add(-min(time.Minute, time.Until(end)/4))
}

// Property is Check's property by itself, for rapid.MakeFuzz and thus for go test -fuzz.
func Property(w Workload, opts ...Option) func(*rapid.T) {
	c := checkConfig{}
	for _, o := range opts {
		o(&c)
	}
	cfg, err := c.withDefaults()
	return func(rt *rapid.T) {
		if err != nil {
			rt.Fatal(err)
		}
		p := &property{workload: w, cfg: cfg, solo: &solo{workload: w, servers: fakezk.New(fakezk.Config{})}}
		p.fuzz(rt) // a fuzzer keeps what kills the process by itself
	}
}

// property is one workload's property, for as long as rapid looks for and shrinks a failure.
type property struct {
	workload Workload
	cfg      Config
	solo     *solo
	due      time.Time // when to stop; zero: never
	witness  *witness  // nil for a fuzzer
	flags    func()    // gives rapid's flags back
	episodes int
	broken   string // the name of what broke first; afterwards nothing else counts
	last     *Found // the last run that broke it

	// Why nothing broke, if not because all is well.
	undecided int    // episodes that could not be judged …
	unknown   string // … and why the first of them could not
	late      bool   // there was no time left
}

// undecidedMax is how many episodes may be undecided before there is no use in going on: each may have taken seconds.
const undecidedMax = 10

// run runs one episode whose choices rapid draws. It ends the goroutine when there is no use in going on: to look for
// more, or to shrink, would mean to wait again and again.
func (p *property) run(rt *rapid.T) {
	if p.late = !p.due.IsZero() && time.Now().After(p.due); p.late {
		runtime.Goexit()
	}
	if p.episodes == 0 {
		p.flags() // rapid has read them
	}
	o, trace := p.episode(rt)
	if p.solo.frozen != nil {
		runtime.Goexit()
	}
	if v := p.violation(o); v != nil {
		if p.last == nil {
			p.flags = setFlags(map[string]string{"rapid.shrinktime": "0s"})
		}
		p.broken, p.last = v.Property, &Found{Violation: *v, Choices: o.choices, Trace: trace}
		rt.Fatalf("%s (%s) broke %s", p.workload.Name(), p.workload.Recipe(), v.Property)
	}
	if o.Unknown == "" {
		return
	}
	p.unknown = cmp.Or(p.unknown, o.Unknown)
	if p.undecided++; p.undecided == undecidedMax {
		runtime.Goexit()
	}
}

// fuzz is run for a fuzzer, which knows nothing but whether an input fails.
func (p *property) fuzz(rt *rapid.T) {
	o, trace := p.episode(rt)
	if p.solo.frozen != nil {
		rt.Fatal(p.solo.frozen)
	}
	if v := p.violation(o); v != nil {
		rt.Fatal(Story(p.workload, *v, trace))
	}
	if o.Unknown != "" {
		rt.Fatalf("%s: unknown: %s", p.workload.Name(), o.Unknown)
	}
}

func (p *property) episode(rt *rapid.T) (o *outcome, trace []Step) {
	p.episodes++
	e := p.cfg.episode(newRapidSource(rt))
	e.trace, e.witness = &trace, p.witness.next(p.episodes-1)
	if o = p.solo.run(e); o.aborted != nil {
		panic(o.aborted) // rapid's own: out of data, or stop
	}
	return o, trace
}

// violation returns the violation that counts: rapid would take any for the one that it shrinks.
func (p *property) violation(o *outcome) *Violation {
	for i, v := range o.Violations {
		if p.broken == "" || v.Property == p.broken {
			return &o.Violations[i]
		}
	}
	return nil
}

// tell says what broke last, made small, or why nothing could be decided.
func (p *property) tell(t *testing.T) (told bool) {
	t.Helper()
	switch {
	case p.last != nil:
		c := &campaign{workload: p.workload, cfg: p.cfg, solo: p.solo}
		c.minimise(p.last)
		tell(t, p.workload, p.cfg, *p.last)
	case p.solo.frozen != nil:
		t.Error(p.solo.frozen)
	case p.unknown != "":
		t.Errorf("%s: unknown: %s", p.workload.Name(), p.unknown)
	case p.late && p.episodes == 0:
		t.Errorf("%s: unknown: the time of the test was over before anything was run: see go test -timeout",
			p.workload.Name())
	case p.late:
		t.Logf("the time of the test is nearly over: %d episodes were run", p.episodes)
		return false
	default:
		return false
	}
	return true
}

func checkByRun(t *testing.T, w Workload, cfg Config) {
	t.Helper()
	cfg.Coverage = true
	r, err := Run(t.Context(), w, cfg)
	switch {
	case err != nil:
		t.Fatal(err)
	case r.Verdict == VerdictUnknown:
		t.Fatalf("%s: unknown: %s", w.Name(), r.Reason)
	case len(r.Violations) > 0:
		tell(t, w, cfg, r.Violations[0])
		t.FailNow()
	}
	t.Log(r.Coverage)
}
