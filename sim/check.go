package sim

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
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

// ShrinkTime is how long [Check] and torture run minimise by default.
const ShrinkTime = 20 * time.Second

// Check runs a workload through many simulated episodes and fails the test with the smallest story of a broken
// property that it finds. Every choice is drawn through rapid, so a failure leaves a fail file that the next run
// tries first, and -rapid.checks=N sets the number of episodes. A failure is made as small as [Run] makes its
// counterexamples; rapid itself shrinks only if -rapid.shrinktime says so.
//
// A test that fails says first, and once more at the end, what broke, where the page of the story is (see [Teller]), and
// which command runs it again, from any folder of the module. Between are the story and rapid's messages. Under GitHub
// Actions the failure is also an annotation, at the line of the recipe that sent the last request of the operations that
// show it, or else at the line that calls Check. With -rapid.nofailfile no file is written.
//
// A test that passes says nothing. With go test -v it logs its [Coverage].
//
// In the folder testdata/rapid/TEST are the fail files, and the counterexamples (*.json) of strategies that rapid does
// not know. All are run before anything new. One that passes, because the recipe was fixed, stays where it is, and
// go test -v says so. Where its choices do not suffice for the changed recipe, the rest of its run has no faults.
//
// With the flag -zktorture.replay=FILE nothing is drawn: the run in the file is run again.
func Check(t *testing.T, w Workload, opts ...Option) {
	t.Helper()
	config := checkConfig{Config: Config{Episodes: episodesDefault, ShrinkTime: ShrinkTime}}
	for _, o := range opts {
		o(&config)
	}
	cfg, err := config.withDefaults()
	c := &checker{t: t, w: w, cfg: cfg, test: callerOfSim()}
	if err == nil {
		err = missingFile(flagOf("rapid.failfile"))
	}
	if err != nil {
		c.fail(err.Error())
		t.FailNow()
	}
	switch {
	case *replayFile != "":
		note, err := c.again(*replayFile)
		if err != nil {
			c.fail(fmt.Sprintf("-zktorture.replay=%s: %v", *replayFile, err))
			t.FailNow()
		}
		t.Log(note)
	case cfg.Strategy != "random":
		c.byRun(c.known())
	default:
		c.byRapid(c.known(), config.seeded)
	}
}

// missingFile is the error of a fail file that is asked for and is not there, which rapid would pass over.
func missingFile(name string) error {
	if name == "" {
		return nil
	}
	if _, err := os.Stat(name); err != nil {
		return fmt.Errorf("-rapid.failfile: %w; a name counts from the folder of the test", err)
	}
	return nil
}

// known runs the counterexamples again that lie beside the test's fail files, and fails the test if one breaks a
// property. Otherwise it returns a sentence about each.
func (c *checker) known() (notes []string) {
	c.t.Helper()
	names, _ := filepath.Glob(filepath.Join(failDir(c.t.Name()), "*.json"))
	for _, name := range names {
		note, err := c.again(name)
		if err != nil {
			note = cannotRun(name, err.Error())
		}
		notes = append(notes, note)
	}
	return notes
}

// logEach logs sentences, but for those that are empty.
func (c *checker) logEach(notes []string) {
	c.t.Helper()
	for _, note := range notes {
		if note != "" {
			c.t.Log(note)
		}
	}
}

func (c *checker) byRapid(notes []string, seeded bool) {
	t := c.t
	t.Helper()
	flags := map[string]string{"rapid.checks": fmt.Sprint(c.cfg.Episodes)}
	if seeded {
		flags["rapid.seed"] = fmt.Sprint(max(c.cfg.Seed, 1))
	}
	c.cfg.Again = goTest(t.Name()) + " -zktorture.replay=FILE"
	p := &property{workload: c.w, cfg: c.cfg, solo: newSolo(context.Background(), c.w, c.cfg), due: hurry(t), witness: newWitness(statesMax),
		files: failFilesOf(t.Name())}
	defer p.solo.end()
	p.flags = setFlags(flags)
	p.asked = flagOf("rapid.checks")
	said, failed := underRapid(t, p.files, p.run)
	p.flags()
	notes = append(notes, p.files.said()...)
	switch why := p.undone(); {
	case p.last != nil:
		said, again := flagsAgain(said)
		p.minimise()
		c.tell(*p.last, again, append([]string{said}, notes...))
	case why != "":
		c.fail(fmt.Sprintf("%s\n%d of %s episodes were run", why, p.episodes, p.asked))
		c.logEach(append(notes, said))
	case failed:
		c.fail(said)
		c.logEach(notes)
	default:
		if p.late {
			t.Logf("the time of the test is nearly over: %d of %s episodes were run", p.episodes, p.asked)
		}
		c.logEach(append([]string{said}, notes...))
		t.Log(p.witness.sights().coverage(p.episodes))
		return
	}
	t.FailNow()
}

// hurry returns when to stop looking, so that time is left to tell what was found; zero if there is no need to stop.
func hurry(t *testing.T) time.Time {
	end, ok := t.Deadline()
	if !ok {
		return time.Time{}
	}
	return end.Add(-min(time.Minute, time.Until(end)/4))
}

// Property is Check's property by itself, for rapid.MakeFuzz and thus for go test -fuzz. Of an input that fails, the story
// comes after what rapid has drawn, and then the go command says how to run the input again. Under GitHub Actions there is
// an annotation, as of Check. Coverage is what go test -fuzz itself says.
func Property(w Workload, opts ...Option) func(*rapid.T) {
	c := checkConfig{}
	for _, o := range opts {
		o(&c)
	}
	cfg, err := c.withDefaults()
	test := callerOfSim()
	return func(rt *rapid.T) {
		if err != nil {
			rt.Fatal(err)
		}
		p := &property{workload: w, cfg: cfg, test: test,
			solo: &solo{ctx: context.Background(), workload: w, servers: fakezk.New(fakezk.Config{})}}
		p.fuzz(rt) // a fuzzer keeps what kills the process by itself
	}
}

// property is one workload's property, for as long as rapid looks for and shrinks a failure.
type property struct {
	workload Workload
	cfg      Config
	test     Place // the line of a fuzzer's test
	solo     *solo
	due      time.Time // when to stop; zero: never
	witness  *witness  // nil for a fuzzer
	files    *failFiles
	flags    func() // gives rapid's flags back
	episodes int
	asked    string // how many episodes were asked for
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
	file := p.files.trying()
	source := newRapidSource(rt)
	source.file = file != ""
	o, trace := p.episode(source)
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
	switch {
	case file == "" || p.last != nil: // rapid stays with a file that has failed
	case o.Unknown != "":
		p.files.done(file + " could not be judged: " + o.Unknown)
	default:
		p.files.passed(source.over)
	}
	if p.solo.full && p.last == nil {
		p.unknown = cmp.Or(p.unknown, heavyLeft())
		runtime.Goexit()
	}
	if o.Unknown == "" {
		return
	}
	p.unknown = cmp.Or(p.unknown, o.Unknown)
	if p.undecided++; p.undecided == undecidedMax {
		runtime.Goexit()
	}
}

// fuzz is run for a fuzzer, which knows nothing but whether an input fails. rapid says the last words twice, and the go
// command then says how to run the input again.
func (p *property) fuzz(rt *rapid.T) {
	o, trace := p.episode(newRapidSource(rt))
	if p.solo.frozen != nil {
		rt.Fatal(p.solo.frozen)
	}
	if v := p.violation(o); v != nil {
		rt.Log(Story(p.workload, *v, trace))
		broke := fmt.Sprintf("%s (%s) broke %s", p.workload.Name(), p.workload.Recipe(), v.Property)
		if onGitHub() {
			p.annotate(rt, broke, Found{Violation: *v, Choices: o.choices, Trace: trace, Hash: o.hash})
		}
		rt.Fatal(broke + ": the story is above")
	}
	if o.Unknown != "" {
		rt.Fatalf("%s: unknown: %s", p.workload.Name(), o.Unknown)
	}
}

// annotate is for rapid's last run alone: its others have no output.
func (p *property) annotate(rt *rapid.T, broke string, f Found) {
	out := rt.Output()
	if out == io.Discard {
		return
	}
	example, err := p.cfg.Counterexample(Result{Workload: p.workload.Name(), Recipe: p.workload.Recipe()}, f)
	if err != nil {
		return
	}
	annotate(out, broke, f.Message, guilty(p.workload, example), p.test)
}

func (p *property) episode(source *rapidSource) (o *outcome, trace []Step) {
	p.episodes++
	e := p.cfg.episode(source)
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

// minimise makes small what broke last.
func (p *property) minimise() {
	(&campaign{workload: p.workload, cfg: p.cfg, solo: p.solo}).minimise(p.last)
}

// undone says why nothing could be decided, "" if that is not so.
func (p *property) undone() string {
	switch {
	case p.solo.frozen != nil:
		return p.solo.frozen.Error()
	case p.unknown != "":
		return p.workload.Name() + ": unknown: " + p.unknown
	case p.late && p.episodes == 0:
		return p.workload.Name() +
			": unknown: the time of the test was over before anything was run: see go test -timeout"
	}
	return ""
}

func (c *checker) byRun(notes []string) {
	t := c.t
	t.Helper()
	c.cfg.Coverage = true
	r, err := Run(t.Context(), c.w, c.cfg)
	switch {
	case err != nil:
		c.fail(err.Error())
		c.logEach(notes)
	case r.Verdict == VerdictUnknown:
		c.fail(fmt.Sprintf("%s: unknown: %s\n%d of %d episodes were run", c.w.Name(), r.Reason, r.Episodes, r.Asked))
		c.logEach(notes)
	case len(r.Violations) > 0:
		if r.Short != "" {
			notes = append(notes, fmt.Sprintf("%d of %d episodes were run: %s", r.Episodes, r.Asked, r.Short))
		}
		c.tell(r.Violations[0], "", notes)
	default:
		c.logEach(notes)
		if c.cfg.Strategy == Exhaustive {
			t.Logf("coverage: %v", r.Extent)
		} else {
			t.Log(r.Coverage)
		}
		return
	}
	t.FailNow()
}
