package sim

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zktorture/zktorture/internal/escape"
	"github.com/zktorture/zktorture/sim/internal/draw"
	"github.com/zktorture/zktorture/sim/tally"
	"github.com/zktorture/zktorture/sim/world"
)

// Option changes how [Check], [CheckBytes] and [Property] run.
type Option func(*options)

type options struct {
	Config
	err error
}

func optionsOf(list []Option) (o options) {
	for _, option := range list {
		option(&o)
	}
	return o
}

// WithFaults names the faults that may strike, as in "loss,expiry", "all,-reap" or "none". By default these are all but wrap
// and reap, which are rare. The flag -zktorture.faults comes first.
func WithFaults(names string) Option {
	return func(o *options) {
		faults, err := world.ParseFaults(names)
		o.Faults, o.NoFaultsAtAll, o.err = faults, true, errors.Join(o.err, err)
	}
}

// WithClients says how many clients there may be, 1 to 64; the default is 3.
func WithClients(n int) Option { return func(o *options) { o.Clients = n } }

// WithOps says how many operations a user may do, 1 to 1000; the default is 4.
func WithOps(n int) Option { return func(o *options) { o.Ops = n } }

// WithEpisodes says how many episodes are run; the default is 2000. The flag -zktorture.episodes, or
// ZKTORTURE_EPISODES in the environment, comes first.
func WithEpisodes(n int) Option { return func(o *options) { o.Episodes = n } }

// WithSeed makes the test draw the same episodes each time. The flag -zktorture.seed, or
// ZKTORTURE_SEED, comes first.
func WithSeed(seed uint64) Option { return func(o *options) { o.Seed = max(seed, 1) } }

// WithStrategy selects one of the [Strategies]; by default it is the [UsualStrategy] of the faults.
func WithStrategy(name string) Option { return func(o *options) { o.Strategy = name } }

// The flags of tests that call Check.
var (
	episodesFlag = flag.Int("zktorture.episodes", 0, "sim.Check: run so many episodes")
	faultsFlag   = flag.String("zktorture.faults", "", "sim.Check: let these `faults` strike, such as all or loss,expiry")
	seedFlag     = flag.Uint64("zktorture.seed", 0, "sim.Check: draw the episodes from this `number`")
	replayFlag   = flag.String("zktorture.replay", "", "sim.Check: run the run in this `file` again, and nothing else")
	shrinkFlag   = flag.Duration("zktorture.shrink", 20*time.Second, "sim.Check: make what is found small for so long at most")
)

// environment sets the flags that are not given from variables of the same names: ZKTORTURE_EPISODES, ZKTORTURE_FAULTS,
// ZKTORTURE_SEED, ZKTORTURE_SHRINK. A flag ends go test ./... in a package that does not know it; a variable does not.
var environment = sync.OnceValue(func() error {
	given := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { given[f.Name] = true })
	for _, name := range []string{"episodes", "faults", "seed", "shrink"} {
		variable := "ZKTORTURE_" + strings.ToUpper(name)
		text := os.Getenv(variable)
		if text == "" || given["zktorture."+name] {
			continue
		}
		if err := flag.Set("zktorture."+name, text); err != nil {
			return fmt.Errorf("%s=%s: %w", variable, text, err)
		}
	}
	return nil
})

const episodesDefault = 2000

// Check runs a workload through many simulated episodes and fails the test with the story of a broken property, made as
// small as [Run] makes it: after the first episode that breaks one it goes on for a moment, tells the gravest ([RootFirst]), and
// lists the others in a line each. Without a seed, each call draws other episodes.
//
// A test that fails says first, and once more at the end, what broke, where the page of the story is, and which command
// runs it again, from any folder of the module.
//
// A test that passes says nothing. With go test -v it logs its [Coverage].
//
// A failure leaves a counterexample in the folder testdata/zktorture/TEST. All that lie there are run before anything
// new. One that passes, because the recipe was fixed, stays where it is, and go test -v says so. Where its choices do not
// suffice for the changed recipe, the rest of its run has no faults.
//
// With the flag -zktorture.replay=FILE nothing is drawn: the run in the file is run again.
//
// A panic on a goroutine that the recipe has started ends the process, and the test. What Go prints of that goroutine has
// the label "seed S, episode N"; with the flag -zktorture.seed=S the test comes to that episode again.
func Check(t *testing.T, w world.Workload, opts ...Option) {
	t.Helper()
	o := optionsOf(opts)
	cfg, err := o.forTest(t)
	c := &checker{t: t, w: w, cfg: cfg}
	switch {
	case err != nil:
		c.fail(err.Error())
		t.FailNow()
	case *replayFlag != "":
		note, err := c.again(*replayFlag)
		if err != nil {
			c.fail(fmt.Sprintf("-zktorture.replay=%s: %v", *replayFlag, err))
			t.FailNow()
		}
		t.Log(note)
	default:
		c.look(c.known())
	}
}

// forTest is how a test runs its campaign.
func (o options) forTest(t *testing.T) (Config, error) {
	if err := environment(); err != nil {
		return Config{}, err
	}
	if *faultsFlag != "" {
		WithFaults(*faultsFlag)(&o)
	}
	cfg := o.Config
	cfg.Episodes = cmp.Or(*episodesFlag, cfg.Episodes, episodesDefault)
	cfg.Seed = cmp.Or(*seedFlag, cfg.Seed, 1+uint64(rand.Uint32()))
	cfg.Coverage, cfg.Once, cfg.ShrinkTime, cfg.Until = true, true, *shrinkFlag, tally.AnyProperty
	if end, ok := t.Deadline(); ok { // time is left to tell what was found
		left := time.Until(end)
		cfg.Duration = max(1, left-min(time.Minute, left/4))
	}
	if cfg.Strategy == "" {
		usual, _ := cfg.WithDefaults()
		cfg.Strategy = draw.Usual(usual.Faults)
	}
	cfg, err := cfg.WithDefaults()
	return cfg, errors.Join(o.err, err)
}

// known runs the counterexamples of the test again, and fails the test if one breaks a property. Otherwise it returns a
// sentence about each with go test -v, and else one about all that pass.
func (c *checker) known() (notes []string) {
	c.t.Helper()
	names, _ := filepath.Glob(filepath.Join(failDir(c.t.Name()), "*.json"))
	passed := 0
	for _, name := range names {
		note, err := c.again(name)
		switch {
		case err != nil:
			notes = append(notes, fmt.Sprintf("%s is left out, because it cannot be run (%v): repair it, or delete it", name, err))
		case testing.Verbose():
			notes = append(notes, note)
		default:
			passed++
		}
	}
	if passed > 0 {
		notes = append(notes, fmt.Sprintf("%d earlier failures pass now (-v lists them)", passed))
	}
	return notes
}

// look looks for something new.
func (c *checker) look(notes []string) {
	t := c.t
	t.Helper()
	if testing.Verbose() {
		c.cfg.Found = c.announce()
	}
	r, err := Run(t.Context(), c.w, c.cfg)
	switch {
	case err != nil:
		c.fail(err.Error())
		c.logEach(notes)
	case r.Verdict == VerdictUnknown && r.Episodes == 0 && r.Reason == nothingRun:
		c.fail(c.w.Name() + ": unknown: the time of the test was over before anything was run: see go test -timeout")
		c.logEach(notes)
	case r.Verdict == VerdictUnknown:
		c.fail(fmt.Sprintf("%s: unknown: %s\n%d of %d episodes were run", c.w.Name(), r.Reason, r.Episodes, c.cfg.Episodes))
		c.logEach(notes)
	case len(r.Violations) > 0:
		c.tell(r.Violations[0], "", slices.Concat(c.where(r.Violations[0]), also(r.Violations), notes))
	default:
		if r.Short != "" {
			t.Logf("the time of the test is nearly over: %d of %d episodes were run", r.Episodes, r.Asked)
		}
		c.logEach(notes)
		t.Log(strings.TrimSpace(fmt.Sprintf("%d episodes with seed %d\n%v\n%s", r.Episodes, r.Seed, r.Coverage, r.NotTried())))
		return
	}
	t.FailNow()
}

// announce returns what logs the first violation when it is found, before it is made small.
func (c *checker) announce() func(episode int, v world.Violation) {
	told := false
	return func(episode int, v world.Violation) {
		if !told {
			sentence, _, _ := strings.Cut(v.Message, "\n")
			c.t.Logf("found: %s in episode %d of seed %d: %s\nthis is made small now, and then told as a story", v.Property,
				episode+1, c.cfg.Seed, sentence)
		}
		told = true
	}
}

// where says in which episode something was found, if episodes have numbers.
func (c *checker) where(f Found) []string {
	if f.Episode < 0 {
		return nil
	}
	return []string{fmt.Sprintf("failed in episode %d of %d (again: %s)", f.Episode+1, c.cfg.Episodes, c.draws(f))}
}

// also says in a short line each what broke beside what is told.
func also(found []Found) (lines []string) {
	for _, f := range found[1:] {
		sentence, _, _ := strings.Cut(f.Message, "\n")
		if runes := []rune(sentence); len(runes) > 70 {
			sentence = string(runes[:69]) + "…"
		}
		lines = append(lines, fmt.Sprintf("%s broke, too, in episode %d: %s", f.Property, f.Episode+1, sentence))
	}
	return lines
}

// draws are the flags that draw the same episodes again, "" if they are not drawn.
func (c *checker) draws(f Found) (flags string) {
	if f.Episode >= 0 {
		flags = fmt.Sprintf("-zktorture.seed=%d", c.cfg.Seed)
		if *faultsFlag != "" {
			flags += " -zktorture.faults=" + escape.Shell(*faultsFlag)
		}
	}
	return flags
}

// logEach logs sentences.
func (c *checker) logEach(notes []string) {
	c.t.Helper()
	for _, note := range notes {
		c.t.Log(note)
	}
}
