package sim

import (
	"flag"
	"fmt"
	"strings"
	"testing"

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

// WithSeed makes the test draw the same episodes each time. The flag -rapid.seed, if given, comes
// first.
func WithSeed(seed uint64) Option {
	return func(c *checkConfig) { c.Seed, c.seeded = seed, true }
}

// WithStrategy selects a strategy other than random; random is the one that rapid can shrink, so
// for any other Check runs a campaign of [Run] and reports its first counterexample.
func WithStrategy(name string) Option { return func(c *checkConfig) { c.Strategy = name } }

const episodesDefault = 2000

// Check runs a workload through many simulated episodes and fails the test with the smallest story
// of a broken property that it can find. Every choice is drawn through rapid, so a failure shrinks,
// leaves a fail file that the next run replays, and can be sought by -rapid.checks=N. What rapid
// leaves is then made as small as [Run] makes its counterexamples; that story comes last.
func Check(t *testing.T, w Workload, opts ...Option) {
	t.Helper()
	c := checkConfig{Config: Config{Episodes: episodesDefault}}
	for _, o := range opts {
		o(&c)
	}
	cfg, err := c.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Strategy != "random" {
		checkByRun(t, w, cfg)
		return
	}
	defer setFlag("rapid.checks", fmt.Sprint(cfg.Episodes))()
	if c.seeded {
		defer setFlag("rapid.seed", fmt.Sprint(max(cfg.Seed, 1)))()
	}
	p := newProperty(w, cfg)
	defer p.tell(t)
	rapid.Check(t, func(rt *rapid.T) { p.run(t, rt, sentence) })
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
		newProperty(w, cfg).run(rt, rt, Story)
	}
}

// setFlag sets a flag of the test binary unless the user has, and returns what undoes it.
func setFlag(name, value string) (undo func()) {
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == name })
	f := flag.Lookup(name)
	if given || f == nil {
		return func() {}
	}
	old := f.Value.String()
	f.Value.Set(value)
	return func() { f.Value.Set(old) }
}

type fataler interface {
	Helper()
	Fatal(...any)
}

// property is one workload's property, for as long as rapid looks for and shrinks a failure.
type property struct {
	workload Workload
	cfg      Config
	servers  *fakezk.Ensemble
	broken   string // the name of what broke first; afterwards nothing else counts
	last     *Found // the last run that broke it
}

func newProperty(w Workload, cfg Config) *property {
	return &property{workload: w, cfg: cfg, servers: fakezk.New(fakezk.Config{})}
}

// run runs one episode whose choices rapid draws. A frozen world ends the whole test at once: to
// shrink it would mean to wait again and again.
func (p *property) run(t fataler, rt *rapid.T, describe func(Workload, Violation, []Step) string) {
	var trace []Step
	e := p.cfg.episode(newRapidSource(rt))
	e.servers, e.trace = p.servers, &trace
	o, err := runWatched(p.workload, e)
	if err != nil {
		t.Fatal(err)
	}
	if o.aborted != nil {
		panic(o.aborted) // rapid's own: out of data, or stop
	}
	if v := p.violation(o); v != nil {
		p.broken, p.last = v.Property, &Found{Violation: *v, Choices: o.choices}
		rt.Fatalf("%s", describe(p.workload, *v, trace))
	}
	if o.unknown != "" {
		rt.Fatalf("%s: unknown: %s", p.workload.Name(), o.unknown)
	}
}

// violation returns the violation that counts: rapid would take any for the one that it shrinks.
func (p *property) violation(o *outcome) *Violation {
	for i, v := range o.violations {
		if p.broken == "" || v.Property == p.broken {
			return &o.violations[i]
		}
	}
	return nil
}

// tell minimises what broke last and tells its story.
func (p *property) tell(t *testing.T) {
	t.Helper()
	if p.last == nil {
		return
	}
	c := &campaign{workload: p.workload, cfg: p.cfg}
	c.minimise(p.last)
	t.Errorf("the smallest story found:\n%s", Story(p.workload, p.last.Violation, p.last.Trace))
}

// Story is a violation for people: the sentence, and what happened.
func Story(w Workload, v Violation, trace []Step) string {
	return fmt.Sprintf("%s\n\n%s\n", sentence(w, v, trace), strings.Join(Lines(trace), "\n"))
}

// sentence is a story without what happened.
func sentence(w Workload, v Violation, _ []Step) string {
	return fmt.Sprintf("%s (%s) broke %s: %s", w.Name(), w.Recipe(), v.Property, v.Message)
}

// rapidSource draws choices through rapid. Each is drawn from few bits, calm ones being small
// numbers, so that rapid's shrinking by deletion and by lowering leads to calmer runs.
type rapidSource struct{ t *rapid.T }

func newRapidSource(t *rapid.T) *rapidSource { return &rapidSource{t} }

var faultDie = rapid.IntRange(0, 15)

func (s *rapidSource) Choose(n int, label string) int {
	if label == LabelFault && faultDie.Draw(s.t, "fault?") < 15 {
		return 0
	}
	return intBelow(n).Draw(s.t, label)
}

// intBelow returns the generator of numbers below n; generators are made once, as making them is
// dear.
func intBelow(n int) *rapid.Generator[int] {
	if n < len(below) {
		return below[n]
	}
	return rapid.IntRange(0, n-1)
}

var below = func() (all [32]*rapid.Generator[int]) {
	for n := 1; n < len(all); n++ {
		all[n] = rapid.IntRange(0, n-1)
	}
	return all
}()

func checkByRun(t *testing.T, w Workload, cfg Config) {
	t.Helper()
	r, err := Run(t.Context(), w, cfg)
	switch {
	case err != nil:
		t.Fatal(err)
	case r.Verdict == VerdictUnknown:
		t.Fatalf("%s: unknown: %s", w.Name(), r.Reason)
	case len(r.Violations) > 0:
		t.Fatal(Story(w, r.Violations[0].Violation, r.Violations[0].Trace))
	}
}
