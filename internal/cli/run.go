package cli

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"github.com/zktorture/zktorture/fakezk/wire/strike"
	"github.com/zktorture/zktorture/internal/cli/console"
	"github.com/zktorture/zktorture/internal/cli/output"
	"github.com/zktorture/zktorture/internal/cli/parts"
	"github.com/zktorture/zktorture/internal/cli/serving"
	"github.com/zktorture/zktorture/internal/wholefile"
	"github.com/zktorture/zktorture/live"
	"github.com/zktorture/zktorture/live/worker"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/prove"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/story"
	"github.com/zktorture/zktorture/story/index"
	"github.com/zktorture/zktorture/workload"
)

type runCmd struct {
	Workload       string        `arg:"" help:"The kind of recipe to test: see torture list." enum:"${kinds}"`
	Recipe         string        `help:"Implementation to test (see torture list), such as ours, or published/… for a known bug; or exec:COMMAND for one that another program serves (docs/workers.md). Default: the first that torture list shows."`
	Backend        string        `help:"Where to run: sim (simulated), wire (simulated, with go-zookeeper's own client), serve (the servers of torture serve, in real time), ensemble (real servers, started on this machine), live (your servers)." default:"sim" enum:"sim,wire,serve,ensemble,live"`
	Servers        string        `help:"With --backend live: addresses of the servers, such as a:2181,b:2181, perhaps with a /chroot."`
	Nodes          int           `help:"With --backend serve or ensemble: the number of servers, 1, 3 or 5." default:"3" range:"1,3,5"`
	Root           string        `help:"With --backend live: the path below which all znodes are made. It must be missing or empty, and is removed at the end. Default: a new one."`
	Clients        int           `help:"Maximum clients." default:"3" range:"1..16"`
	Ops            int           `help:"Maximum operations per user." default:"4" range:"1..100"`
	Faults         runFaults     `placeholder:"FAULTS" help:"The faults that may strike: names from torture list with commas between them, all, or none; all,-loss leaves one out. Default: every fault of the backend; in simulation in stages, see --strategy."`
	Plan           string        `help:"On real servers: repeat the faults of this file, the DIR/faults.jsonl of an earlier run, perhaps edited. Default: the seed draws them." placeholder:"FILE"`
	Print          bool          `name:"print-plan" help:"On real servers: run nothing, and print the faults that the seed draws, for --plan: for --episodes rounds (100 by default), and for the servers within --duration."`
	Strategy       string        `help:"How episodes are drawn: see torture list. Default: stages, or mix with --faults; on real servers random." default:"" placeholder:"STRATEGY" enum:",${strategies}"`
	Near           []string      `help:"With --strategy near: counterexamples of this kind; each episode begins like one of them." placeholder:"FILE,…"`
	AtMost         int           `help:"With --strategy exhaustive: maximum faults in an execution, 0 to 6." default:"1" range:"0..6"`
	Users          int           `help:"With --strategy exhaustive: maximum users of a client, 1 or 2. With other strategies one client in four has two." default:"1" range:"1..2"`
	Plain          bool          `help:"With --strategy exhaustive: search only the simplest plan, in which each user plays one part."`
	Checkpoint     string        `help:"With --strategy exhaustive: save the search to this file every ten seconds, and continue from the file if it exists." placeholder:"FILE"`
	Certificate    string        `help:"With --strategy exhaustive: if the search is complete and nothing broke, write a certificate, which torture certify checks." placeholder:"FILE"`
	Exact          bool          `help:"In simulation: draw, replay and shrink the decisions of the Go runtime, too (docs/exact.md). Passing episodes are run twice and compared."`
	Once           bool          `help:"With --exact: run passing episodes once."`
	Episodes       int           `help:"The number of episodes. Default: 1000 in simulation, or as many as --duration allows. With --strategy exhaustive: maximum runs. Default: no limit." range:"1.."`
	Duration       time.Duration `help:"How long to run. Default: 30s on real servers." range:">0"`
	Patience       time.Duration `help:"On real servers: how long a client waits, without faults, before it counts as waiting forever; longer where servers are slow. The run ends when servers are away for twice as long. Default: 10s, longer with --rate." range:">0"`
	Ready          time.Duration `help:"On real servers: how long a worker process may take until it is ready, not counting the time in which it could not run. Default: 30s." range:">0"`
	Seed           *uint64       `help:"The same seed gives the same run. Default: a new one, which is printed."`
	Out            string        `help:"A folder for results, which must not exist. Default: only counterexamples are written, to counterexamples/."`
	JSON           bool          `name:"json" help:"Print one JSON object, and nothing else, to standard output."`
	NoShrink       bool          `name:"no-shrink" help:"In simulation: leave counterexamples as they were found."`
	ShrinkTime     time.Duration `name:"shrink-time" help:"In simulation: how much time, also of processors, may be spent on minimising all counterexamples, the likely cause first; 0s: until they are minimal." default:"20s" range:"0s.."`
	Coverage       bool          `help:"In simulation: also list the ways in which faults could have hit operations and did not."`
	All            bool          `help:"Print the story of each property that broke, not only that of the likely cause."`
	Rate           float64       `help:"With --backend live: maximum requests a second, of all clients together." range:"1.."`
	output.CIFlags `embed:""`

	serving.AccessFlags  `embed:""`
	serving.MetricsFlags `embed:""`

	meter     *serving.RunMetrics
	known     []world.Choices // of Near
	faultPlan *live.FaultPlan
	may       strike.Set   // on real servers …
	servers   live.Servers // … that may be hurt, or nil
}

// Run executes the command.
func (r *runCmd) Run(c *console.Context) error {
	w, err := findRecipe(c, r.Workload, r.Recipe, r.Backend)
	if err != nil {
		return err
	}
	r.Recipe = w.Recipe()
	if r.Backend == "wire" {
		w = w.OverWire()
	}
	if r.Seed == nil {
		seed := rand.Uint64() >> 32
		r.Seed = &seed
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
	if err := r.chooseFaults(c, w); err != nil {
		return err
	}
	if r.Print {
		return r.printPlan(c, w)
	}
	if err := r.gainNetworks(); err != nil {
		return err
	}
	if err := r.Probe(); err != nil {
		return err
	}
	r.meter = serving.NewRunMetrics()
	stop, err := r.Serve(c, r.meter.Write)
	if err != nil {
		return err
	}
	defer stop()
	out, err := output.NewFolder(r.Out)
	if err != nil {
		return err
	}
	if err := out.Begin(r.begin()); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	err = r.on(c, w, out)
	if verdict := console.VerdictError(0); err != nil && !errors.As(err, &verdict) {
		out.Discard()
	}
	return err
}

// choose chooses the faults and the strategy where none is asked for.
func (r *runCmd) choose() error {
	usual := "mix"
	switch {
	case !output.Simulates(r.Backend):
		usual = "random"
	case r.Faults.text == "":
		usual = sim.Stages
	}
	r.Strategy = cmp.Or(r.Strategy, usual)
	return r.Faults.UnmarshalText([]byte(cmp.Or(r.Faults.text, "all")))
}

// chooseFaults selects the faults of a run on real servers, and checks that they can strike.
func (r *runCmd) chooseFaults(c *console.Context, w *workload.Workload) (err error) {
	if output.Simulates(r.Backend) {
		return nil
	}
	if r.faultPlan, err = console.Interruptible(c, r.plan); err != nil {
		return err
	}
	r.may, err = r.liveFaults(w)
	return err
}

func (r *runCmd) on(c *console.Context, w *workload.Workload, out *output.Folder) error {
	switch r.Backend {
	case "sim", "wire":
		return r.simulate(c, w, out)
	case "serve":
		return r.onServed(c, w, out)
	case "ensemble":
		return r.onEnsemble(c, w, out)
	}
	return r.onLive(c, w, out)
}

// Rules implements ruled.
func (r *runCmd) Rules() []console.Rule {
	real, live := !output.Simulates(r.Backend), r.Backend == "live"
	exhaustive := r.Strategy == sim.Exhaustive
	return append(r.AccessFlags.Rules(),
		console.When(live, "servers root rate auth tls-ca tls-key tls-cert tls-server-name", "needs --backend live"),
		console.When(real && !live, "nodes", "needs --backend serve or ensemble"),
		console.When(real, "plan print-plan patience ready", "needs --backend serve, ensemble or live"),
		console.When(!real, "exact no-shrink shrink-time coverage", "needs --backend sim or wire"),
		console.When(r.Strategy == sim.Near, "near", "needs --strategy near"),
		console.When(exhaustive, "at-most users plain checkpoint certificate", "needs --strategy exhaustive"),
		console.When(!exhaustive, "exact", "cannot be used with --strategy exhaustive, "+
			"because an exhaustive search does not draw the decisions of the Go runtime"),
		console.When(!exhaustive, "coverage", "cannot be used with --strategy exhaustive, "+
			"because an exhaustive search reports its own coverage"),
		console.When(r.Exact, "once", "needs --exact"),
		console.When(r.Plan == "", "faults", "cannot be used with --plan, because the plan determines what strikes"),
		console.When(!r.Print, "plan json out junit summary metrics", "cannot be used with --print-plan, because it runs nothing"),
		console.When(!r.NoShrink, "shrink-time", "cannot be used with --no-shrink, because nothing is minimised then"),
		console.When(!r.JSON, "all", "cannot be used with --json, because the JSON object has no stories"))
}

// validate refuses what the rules let pass.
func (r *runCmd) validate() error {
	if err := r.choose(); err != nil {
		return err
	}
	switch {
	case output.Simulates(r.Backend) && r.Faults.simErr != nil:
		return r.Faults.simErr
	case r.Backend == "live" && r.Servers == "":
		return fmt.Errorf("--backend live needs --servers a:2181,…")
	case strings.HasPrefix(r.Recipe, worker.Foreign) && (r.Auth != "" || r.Rate != 0):
		return fmt.Errorf("a recipe that another program serves does not support --auth and --rate: leave them out")
	case r.Patience != 0 && r.Patience < time.Second:
		return fmt.Errorf("--patience %v: at least 1s is needed, in which a run takes its own pulse twenty times", r.Patience)
	case r.Strategy == sim.Near && len(r.Near) == 0:
		return fmt.Errorf("--strategy near needs --near FILE,…: the counterexamples that episodes begin like")
	case r.Strategy == sim.Exhaustive && r.Backend != "sim":
		return fmt.Errorf("--strategy exhaustive works only with --backend sim: leave one of them out")
	}
	return r.validateBackend()
}

// validateBackend rejects flags that the backend does not support.
func (r *runCmd) validateBackend() error {
	switch {
	case output.Simulates(r.Backend) && strings.HasPrefix(r.Recipe, worker.Foreign):
		return fmt.Errorf("a recipe that another program serves needs servers: --backend serve, ensemble or live")
	case output.Simulates(r.Backend):
		return nil
	case r.Strategy != "random":
		return fmt.Errorf("--strategy %s works only with --backend sim and wire: real servers have only random", r.Strategy)
	}
	return nil
}

// begin describes the run, for its folder.
func (r *runCmd) begin() index.Begin {
	b := index.Begin{
		Workload: r.Workload, Recipe: r.Recipe, Backend: r.Backend, Strategy: r.Strategy, Seed: *r.Seed,
		Faults: r.Faults.text, Plan: r.Plan, Clients: r.Clients, Ops: r.Ops, Episodes: r.Episodes,
		Duration: r.Duration.Seconds(),
	}
	if r.Backend == "serve" || r.Backend == "ensemble" {
		b.Nodes = r.Nodes
	}
	return b
}

func (r *runCmd) simulate(c *console.Context, w *workload.Workload, out *output.Folder) error {
	bar := output.NewBar(c, r.JSON, r.Episodes, r.Duration)
	cfg := r.config()
	cfg.Again, cfg.Progress, cfg.Found = c.Self+" replay FILE", r.meter.Following(bar.Show), bar.Tell(*r.Seed)
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
	if err := r.certify(cfg, result); err != nil {
		return err
	}
	return r.report(c, w, out, result, out.Counterexamples(cfg, result))
}

func (r *runCmd) config() sim.Config {
	return sim.Config{
		Audit: auditedEpisodes, Strategy: r.Strategy, Episodes: r.Episodes, Duration: r.Duration, Seed: *r.Seed,
		Faults: r.Faults.sim, NoFaultsAtAll: true, Clients: r.Clients, Ops: r.Ops, Once: r.Once, NoShrink: r.NoShrink,
		ShrinkTime: r.ShrinkTime,
		Coverage:   r.Strategy != sim.Exhaustive, // which says itself how much it has seen
		AtMost:     r.AtMost, Users: r.Users, Plain: r.Plain, Checkpoint: r.Checkpoint, Near: r.known,
	}
}

// near reads the episodes like which others are to begin.
func (r *runCmd) near() (known []world.Choices, err error) {
	for _, name := range r.Near {
		c, err := readExample(name)
		switch {
		case err != nil:
			return nil, fmt.Errorf("--near %s: %w", name, err)
		case c.Workload != r.Workload || c.Exact != sim.Exact():
			return nil, fmt.Errorf("--near %s: it is of a %s, exact mode: %v; expected is a %s, exact mode: %v", name, c.Workload,
				c.Exact, r.Workload, sim.Exact())
		}
		known = append(known, c.Choices)
	}
	return known, nil
}

// auditedEpisodes suffice to measure the sensitivity, and cost little.
const auditedEpisodes = 100

// report prints the result and turns the verdict into an exit status. Write errors come last.
func (r *runCmd) report(c *console.Context, w *workload.Workload, out *output.Folder, result sim.Result, saved output.Evidence) error {
	if result.Asked == 0 && r.Strategy != sim.Exhaustive {
		result.Asked = r.Episodes // on real servers
	}
	if c.Err() != nil {
		interrupted(&result)
	}
	if result.Coverage != nil && !r.Coverage {
		result.Coverage.Never = nil
	}
	summary := output.Summarize(result, r.Backend, saved.Files)
	told := 1
	if r.All {
		told = len(result.Violations)
	}
	if r.JSON {
		console.WriteJSON(c.Stdout, summary)
	} else {
		output.PrintResult(c.Stdout, result, stories(c, w, saved, told), r.Backend, c.Streams, saved.Files)
	}
	trouble := errors.Join(saved.Err, out.Summary(summary), out.Disputed(c, result))
	if r.Wanted() {
		trouble = errors.Join(trouble, r.Write(r.ciOf(result, r.problems(c, w, result, saved))))
	}
	return c.End(console.Exits[result.Verdict], trouble)
}

// stories tells the first of a run's violations; of what was found on real servers, and of what has no story, it is "".
func stories(c *console.Context, w *workload.Workload, saved output.Evidence, told int) []string {
	texts := make([]string, min(told, len(saved.Files)))
	for i := range texts {
		if i < len(saved.Examples) && saved.Examples[i] != nil {
			if s, err := story.Brief(w, saved.Examples[i]); err == nil {
				s.Title = fmt.Sprintf("VIOLATION of %s: %s", s.Property, s.Message)
				texts[i] = s.Text(brief(c.Streams))
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

// certify writes the certificate that is wanted, if the search is ground for one.
func (r *runCmd) certify(cfg sim.Config, result sim.Result) error {
	if r.Certificate == "" || result.Verdict != sim.VerdictOK {
		return nil
	}
	certificate, err := prove.Certify(cfg, result)
	if err != nil {
		return err
	}
	return wholefile.WriteBy(r.Certificate, certificate.Write)
}
