package cli

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	"github.com/zktorture/zktorture/cmd/internal/cli/output"
	"github.com/zktorture/zktorture/cmd/internal/cli/parts"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/story"
	"github.com/zktorture/zktorture/story/index"
	"github.com/zktorture/zktorture/workload"
)

// Trial is what run, live and prove have in common.
type Trial struct {
	Recipe         string  `help:"Implementation to test (see torture list), such as ours, or published/… for a known bug; with torture live also exec:COMMAND, for one that another program serves (docs/workers.md). Default: the first that torture list shows." placeholder:"RECIPE"`
	Clients        int     `help:"Maximum clients." default:"3" range:"1..64"`
	Ops            int     `help:"Maximum operations per user." default:"4" range:"1..1000"`
	Seed           *uint64 `help:"The same seed gives the same run. Default: a new one, which is printed."`
	Out            string  `placeholder:"DIR" help:"A folder for results, which must not exist. Default: only counterexamples are written, to counterexamples/."`
	JSON           bool    `name:"json" help:"Print one JSON object, and nothing else, to standard output."`
	output.CIFlags `embed:""`

	backend, strategy string
}

// Find finds the workload, and draws a seed if there is none.
func (t *Trial) Find(kind string) (*workload.Workload, error) {
	w, err := FindRecipe(kind, t.Recipe, t.backend)
	if err != nil {
		return nil, err
	}
	t.Recipe = w.Recipe()
	if t.Seed == nil {
		seed := rand.Uint64() >> 32
		t.Seed = &seed
	}
	return w, nil
}

// Within runs something with a folder for its results.
func (t *Trial) Within(c *console.Context, begin index.Begin, run func(*output.Folder) error) error {
	if err := t.Probe(); err != nil {
		return err
	}
	out, err := output.NewFolder(t.Out)
	if err != nil {
		return err
	}
	begin.Recipe, begin.Backend, begin.Strategy, begin.Seed = t.Recipe, t.backend, t.strategy, *t.Seed
	begin.Clients, begin.Ops = t.Clients, t.Ops
	if err := out.Begin(begin); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	err = run(out)
	if verdict := console.VerdictError(0); err != nil && !errors.As(err, &verdict) {
		out.Discard()
	}
	return err
}

// RunCmd tests in simulation.
type RunCmd struct {
	Kind       string        `arg:"" help:"The kind of recipe to test: see torture list." enum:"${kinds}"`
	Wire       bool          `help:"Use go-zookeeper's own client: what goes over its connections is simulated, too."`
	Faults     SimFaults     `placeholder:"FAULTS" help:"The faults that may strike: names from torture list with commas between them, all, or none; all,-loss leaves one out. Default: all but wrap and reap, which are rare."`
	Episodes   int           `help:"The number of episodes. Default: 1000, or as many as --duration allows." range:"1.."`
	Duration   time.Duration `help:"How long to run." range:">0"`
	Strategy   string        `help:"How episodes are drawn: see torture list. Default: stages, or mix of few faults." default:"" placeholder:"STRATEGY" enum:",${strategies}"`
	Near       []string      `help:"With --strategy near: counterexamples of this kind; each episode begins like one of them." placeholder:"FILE"`
	Exact      bool          `help:"Draw, replay and shrink the decisions of the Go runtime, too (docs/exact.md). Passing episodes are run twice and compared."`
	ShrinkTime time.Duration `name:"shrink-time" help:"How much time, also of processors, may be spent on minimising all counterexamples, the likely cause first; 0s: until they are minimal." default:"${shrinktime}" range:"0s.."`
	Trial      `embed:""`

	known []world.Choices // of Near
}

func (r *RunCmd) Run(c *console.Context) error {
	r.backend = "sim"
	w, err := r.Find(r.Kind)
	if err != nil {
		return err
	}
	if r.Wire {
		r.backend, w = "wire", w.OverWire()
	}
	if err := r.validate(); err != nil {
		return err
	}
	if r.Exact {
		if err := c.Exactly(); err != nil {
			return err
		}
	}
	if r.known, err = r.near(); err != nil {
		return err
	}
	if seed := os.Getenv(parts.Variable); seed != "" {
		return parts.AnswerEpisodes(c, w, r.config(), seed)
	}
	begin := index.Begin{Workload: r.Kind, Faults: r.Faults.Text, Episodes: r.Episodes, Duration: r.Duration.Seconds()}
	return r.Within(c, begin, func(out *output.Folder) error {
		return r.Simulate(c, w, out, r.config(), func(*sim.Result) error { return nil })
	})
}

func (r *RunCmd) Rules() []console.Rule {
	return []console.Rule{console.When(r.Strategy == sim.Near, "near", "needs --strategy near")}
}

// validate chooses the faults and the strategy where none is asked for, and refuses what the rules let pass.
func (r *RunCmd) validate() error {
	if r.Faults.Text == "" {
		r.Faults = SimFaults{world.UsualFaults.String(), world.UsualFaults}
	}
	r.strategy = cmp.Or(r.Strategy, sim.UsualStrategy(r.Faults.Set))
	if r.strategy == sim.Near && len(r.Near) == 0 {
		return fmt.Errorf("--strategy near needs --near FILE,…: the counterexamples that episodes begin like")
	}
	return nil
}

// Simulate runs a campaign and reports it, after seen has seen the result.
func (t *Trial) Simulate(c *console.Context, w *workload.Workload, out *output.Folder, cfg sim.Config, seen func(*sim.Result) error) error {
	bar := output.NewBar(c, t.JSON, cfg.Episodes, cfg.Duration)
	cfg.Progress, cfg.Found = bar.Show, bar.Tell(cfg.Seed)
	defer c.EndSoon(bar.Status)()
	end, err := parts.Elsewhere(c, &cfg)
	if err != nil {
		return err
	}
	defer end()
	result, err := sim.Run(c, w, cfg)
	bar.Line.End()
	if err != nil {
		return err
	}
	if err := seen(&result); err != nil {
		return err
	}
	return t.report(c, w, out, result, out.Counterexamples(cfg, result))
}

func (r *RunCmd) config() sim.Config {
	return sim.Config{
		Strategy: r.strategy, Episodes: r.Episodes, Duration: r.Duration, Seed: *r.Seed,
		Faults: r.Faults.Set, NoFaultsAtAll: true, Clients: r.Clients, Ops: r.Ops, ShrinkTime: r.ShrinkTime,
		Coverage: true, Near: r.known,
	}
}

// near reads the episodes like which others are to begin.
func (r *RunCmd) near() (known []world.Choices, err error) {
	for _, name := range r.Near {
		c, err := readFile(name, sim.ReadCounterexample)
		switch {
		case err != nil:
			return nil, console.OfFile("--near "+name, err)
		case c.Workload != r.Kind || c.Exact != sim.Exact():
			return nil, fmt.Errorf("--near %s: it is of a %s, exact mode: %v; expected is a %s, exact mode: %v", name, c.Workload,
				c.Exact, r.Kind, sim.Exact())
		}
		known = append(known, c.Choices)
	}
	return known, nil
}

// ShrinkTime is how much time is spent on minimising unless somebody says so.
const ShrinkTime = 20 * time.Second

// report prints the result and turns the verdict into an exit status. Write errors come last.
func (t *Trial) report(c *console.Context, w *workload.Workload, out *output.Folder, result sim.Result, saved output.Evidence) error {
	if c.Err() != nil {
		interrupted(&result)
	}
	summary := output.Summarize(result, t.backend, saved.Files)
	if t.JSON {
		console.WriteJSON(c.Stdout, summary)
	} else {
		output.PrintResult(c.Stdout, result, stories(c, w, saved), t.backend, c.Streams, saved.Files)
	}
	trouble := errors.Join(saved.Err, out.Summary(summary))
	if t.Wanted() {
		trouble = errors.Join(trouble, t.Write(t.ciOf(result, t.problems(c, w, result, saved))))
	}
	return c.End(console.Exits[result.Verdict], trouble)
}

// stories tells the first of a run's violations; of what was found on real servers, and of what has no story, it is "".
func stories(c *console.Context, w *workload.Workload, saved output.Evidence) []string {
	texts, brief := make([]string, min(1, len(saved.Files))), textOptions(c.Streams)
	brief.Brief = true
	for i := range texts {
		if i < len(saved.Examples) && saved.Examples[i] != nil {
			if s, err := story.Brief(w, saved.Examples[i]); err == nil {
				s.Title = fmt.Sprintf("VIOLATION of %s: %s", s.Property, s.Message)
				texts[i] = s.Text(brief)
			}
		}
	}
	return texts
}

// interrupted notes that a signal ended a run. A violation stands; no violation is unknown, so that a gate does not
// take it for a pass.
func interrupted(r *sim.Result) {
	r.Interrupted = true
	if r.Verdict == sim.VerdictOK || r.Episodes == 0 {
		r.Verdict = sim.VerdictUnknown
		r.Reason = fmt.Sprintf("no violation in the %s before the interruption", console.Count(r.Episodes, "episode"))
		if r.Short != "" && r.Short != "interrupted" {
			r.Reason = r.Short
		}
	}
}
