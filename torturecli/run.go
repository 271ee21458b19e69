package torturecli

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/zktorture/zktorture/internal/wholefile"
	"github.com/zktorture/zktorture/live"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/storyindex"
	"github.com/zktorture/zktorture/worker"
	"github.com/zktorture/zktorture/workload"
)

type runCmd struct {
	Workload    string        `arg:"" help:"What to torture: see torture list."`
	Recipe      string        `help:"Which implementation; default: the first that torture list shows. A name from there, such as ours or published/… for one from the zoo, or exec:COMMAND for one that another program serves (docs/workers.md)."`
	Backend     string        `help:"Where: sim, wire (simulated, too, with go-zookeeper's own client), serve (the servers of torture serve, in real time), ensemble (real servers, started here), live (servers of yours)." default:"sim"`
	Servers     string        `help:"For live: a:2181,b:2181, with /chroot if you like."`
	Nodes       int           `help:"For serve and ensemble: how many servers, 1, 3 or 5." default:"3"`
	Root        string        `help:"For live: the path below which everything happens; it must not exist or be empty, and is removed at the end. Default: a fresh one."`
	Clients     int           `help:"At most so many clients." default:"3"`
	Ops         int           `help:"At most so many operations for each user." default:"4"`
	Faults      string        `help:"What may strike: a list of names, all or none. Default: all. See torture list: not all can strike everywhere."`
	Plan        string        `help:"On real servers: the faults of a recorded run, DIR/faults.jsonl, perhaps edited, instead of such as the seed draws." placeholder:"FILE"`
	Print       bool          `name:"print-plan" help:"On real servers: start nothing, and print what the seed draws, for --plan: for --episodes rounds, 100 by default, and for servers within --duration."`
	Strategy    string        `help:"How episodes are chosen: see torture list. Default: mix; on real servers random."`
	AtMost      int           `help:"With --strategy exhaustive: at most so many faults strike, 0 to 6." default:"1"`
	Plain       bool          `help:"With --strategy exhaustive: search the simplest plan alone: each user plays one part, as simply as can be."`
	Checkpoint  string        `help:"With --strategy exhaustive: how far the search has come is written here every ten seconds, and a search goes on from it." placeholder:"FILE"`
	Certificate string        `help:"With --strategy exhaustive: if all was searched and nothing broke, write that here; torture certify checks it." placeholder:"FILE"`
	Exact       bool          `help:"In simulation: draw, replay and shrink what the Go runtime decides, too (docs/exact.md). Passing episodes are run twice and compared."`
	Once        bool          `help:"With --exact: run passing episodes once."`
	Episodes    int           `help:"How many. Default: 1000 in sim, or as many as --duration allows. With --strategy exhaustive: so many runs at most; default: any number."`
	Duration    time.Duration `help:"How long. Default: 30s on real servers."`
	Seed        *uint64       `help:"Equal seeds, equal runs. Default: a fresh one, which is printed."`
	Out         string        `help:"A folder for results, which must not exist. Default: only counterexamples are written, to counterexamples/."`
	JSON        bool          `name:"json" help:"Print one JSON object to standard output and nothing else there."`
	Coverage    bool          `help:"In simulation: also list the ways in which faults could have hit operations, and never did."`
	All         bool          `help:"Tell the story of each property that broke, and not of the likely root alone."`
	Rate        float64       `help:"For live: at most so many requests a second, of all clients together."`
	ciFlags     `embed:""`

	accessFlags  `embed:""`
	metricsFlags `embed:""`

	meter     *runMetrics
	faultPlan *live.FaultPlan
	may       live.FaultSet // on real servers …
	servers   live.Servers  // … that may be hurt, or nil
}

// Run executes the command.
func (r *runCmd) Run(c *commandContext) error {
	w, err := worker.Find(r.Workload, r.Recipe)
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
		if err := c.exactly(); err != nil {
			return err
		}
	}
	if seed := os.Getenv(partVariable); seed != "" {
		return answerParts(c, w, r.config(), seed)
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
	if err := r.probe(); err != nil {
		return err
	}
	r.meter = newRunMetrics()
	stop, err := r.serve(c, r.meter)
	if err != nil {
		return err
	}
	defer stop()
	out, err := newOutput(r.Out)
	if err != nil {
		return err
	}
	if err := out.begin(r.begin()); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	err = r.on(c, w, out)
	out.endProgressLog(c)
	if verdict := verdictError(0); err != nil && !errors.As(err, &verdict) {
		out.discard()
	}
	return err
}

// usual is the strategy where none is asked for.
func (r *runCmd) usual() string {
	if simulates(r.Backend) {
		return "mix"
	}
	return "random"
}

// simulates tells whether a backend is a simulated world.
func simulates(backend string) bool { return backend == "sim" || backend == "wire" }

// chooseFaults selects the faults of a run on real servers, and checks that they can strike.
func (r *runCmd) chooseFaults(c *commandContext, w *workload.Workload) (err error) {
	if simulates(r.Backend) {
		return nil
	}
	if r.faultPlan, err = interruptible(c, r.plan); err != nil {
		return err
	}
	r.may, err = r.liveFaults(w)
	return err
}

func (r *runCmd) on(c *commandContext, w *workload.Workload, out *output) error {
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

func (r *runCmd) validate() error {
	r.Strategy = cmp.Or(r.Strategy, r.usual())
	switch {
	case !slices.Contains([]string{"sim", "wire", "serve", "ensemble", "live"}, r.Backend):
		return fmt.Errorf("unknown backend %q: there are sim, wire, serve, ensemble, live", r.Backend)
	case r.Episodes < 0 || r.Duration < 0:
		return fmt.Errorf("--episodes and --duration must not be negative")
	case r.Clients < 1 || r.Clients > 16 || r.Ops < 1 || r.Ops > 100:
		return fmt.Errorf("%d clients with %d operations: 1 to 16 and 1 to 100 are possible", r.Clients, r.Ops)
	case r.Backend == "live" && r.Servers == "":
		return fmt.Errorf("--backend live needs --servers a:2181,…")
	case r.Backend != "live" && (r.Servers != "" || r.Root != ""):
		return fmt.Errorf("--servers and --root are for --backend live")
	case r.Backend != "live" && (r.accessFlags.given() || r.Rate != 0):
		return fmt.Errorf("--auth, --tls-… and --rate are for --backend live")
	case strings.HasPrefix(r.Recipe, worker.Foreign) && (r.Auth != "" || r.Rate != 0):
		return fmt.Errorf("a recipe that another program serves knows neither --auth nor --rate")
	case r.Rate != 0 && !(r.Rate >= rateMin):
		return fmt.Errorf("--rate %g: at least %d request a second is needed", r.Rate, rateMin)
	case r.Exact && !simulates(r.Backend) || r.Once && !r.Exact:
		return fmt.Errorf("--exact is for --backend sim and wire, and --once for --exact")
	case r.Coverage && !simulates(r.Backend):
		return fmt.Errorf("--coverage is for --backend sim and wire")
	case r.Coverage && r.Strategy == sim.Exhaustive:
		return fmt.Errorf("--strategy exhaustive says itself how much was seen: --coverage is for the others")
	case sim.CheckStrategy(r.Strategy) != nil:
		return sim.CheckStrategy(r.Strategy)
	case r.Strategy != sim.Exhaustive && (r.Plain || r.Checkpoint != "" || r.Certificate != ""):
		return fmt.Errorf("--plain, --checkpoint and --certificate are for --strategy exhaustive")
	case r.AtMost < 0 || r.AtMost > 6:
		return fmt.Errorf("--at-most %d: 0 to 6 faults are possible", r.AtMost)
	case r.Strategy == sim.Exhaustive && (r.Backend != "sim" || r.Exact):
		return fmt.Errorf("--strategy exhaustive is for --backend sim, without --exact")
	}
	return r.validateBackend()
}

// validateBackend rejects flags that the backend does not support.
func (r *runCmd) validateBackend() error {
	switch {
	case r.Plan != "" && (simulates(r.Backend) || r.Faults != ""):
		return fmt.Errorf("--plan is for real servers, and says itself which --faults there are")
	case r.Print && (simulates(r.Backend) || r.Plan != ""):
		return fmt.Errorf("--print-plan prints what the seed draws for real servers: " +
			"it goes with --backend serve, ensemble or live, and without --plan")
	case simulates(r.Backend) && strings.HasPrefix(r.Recipe, worker.Foreign):
		return fmt.Errorf("a recipe that another program serves needs servers: --backend serve, ensemble or live")
	case simulates(r.Backend):
		_, err := sim.ParseFaults(r.faultList())
		return err
	case r.Strategy != "random":
		return fmt.Errorf("on real servers only --strategy random is possible")
	}
	return nil
}

func (r *runCmd) faultList() string { return cmp.Or(r.Faults, "all") }

// begin describes the run, for its folder.
func (r *runCmd) begin() storyindex.Begin {
	b := storyindex.Begin{
		Workload: r.Workload, Recipe: r.Recipe, Backend: r.Backend, Strategy: r.Strategy, Seed: *r.Seed,
		Faults: r.faultList(), Plan: r.Plan, Clients: r.Clients, Ops: r.Ops, Episodes: r.Episodes,
		Duration: r.Duration.Seconds(),
	}
	if r.Backend == "serve" || r.Backend == "ensemble" {
		b.Nodes = r.Nodes
	}
	return b
}

func (r *runCmd) simulate(c *commandContext, w *workload.Workload, out *output) error {
	bar := newBar(c, r.JSON, r.Episodes, r.Duration)
	cfg := r.config()
	cfg.Again, cfg.Progress = c.self+" replay FILE", r.meter.following(out.progress(bar))
	end, err := r.elsewhere(c, &cfg)
	if err != nil {
		return err
	}
	defer end()
	result, err := sim.Run(c, w, cfg)
	bar.Clear()
	if err != nil {
		return err
	}
	if err := r.certify(cfg, result); err != nil {
		return err
	}
	return r.report(c, w, out, result, out.counterexamples(cfg, result))
}

func (r *runCmd) config() sim.Config {
	faults, _ := sim.ParseFaults(r.faultList())
	return sim.Config{
		Audit: auditedEpisodes, Strategy: r.Strategy, Episodes: r.Episodes, Duration: r.Duration, Seed: *r.Seed,
		Faults: faults, NoFaultsAtAll: true, Clients: r.Clients, Ops: r.Ops, Once: r.Once,
		Coverage: r.Strategy != sim.Exhaustive, // which says itself how much it has seen
		AtMost:   r.AtMost, Plain: r.Plain, Checkpoint: r.Checkpoint,
	}
}

// auditedEpisodes suffice to measure the sensitivity, and cost little.
const auditedEpisodes = 100

// report prints the result and turns the verdict into an exit status. Write errors come last.
func (r *runCmd) report(c *commandContext, w *workload.Workload, out *output, result sim.Result, saved evidence) error {
	if c.Err() != nil {
		interrupted(&result)
	}
	if result.Coverage != nil && !r.Coverage {
		result.Coverage.Never = nil
	}
	summary := summarize(result, r.Backend, saved.files)
	told := 1
	if r.All {
		told = len(result.Violations)
	}
	if r.JSON {
		writeJSON(c.out, summary)
	} else {
		printResult(c.out, result, told, r.Backend, c.self, saved.files)
	}
	trouble := errors.Join(saved.err, out.summary(summary), out.disputed(c, result))
	if r.wanted() {
		trouble = errors.Join(trouble, r.write(r.ciOf(result, r.stories(c, w, result, saved))))
	}
	return c.end(exits[result.Verdict], trouble)
}

// exits are the exit statuses of verdicts.
var exits = map[sim.Verdict]int{
	sim.VerdictOK: exitOK, sim.VerdictViolation: exitViolation, sim.VerdictUnknown: exitUnknown,
}

// interrupted notes that a signal ended a run. A violation stands; no violation is unknown, so that a gate does not
// take it for a pass.
func interrupted(r *sim.Result) {
	r.Interrupted = true
	if r.Verdict == sim.VerdictOK || r.Episodes == 0 {
		r.Verdict = sim.VerdictUnknown
		r.Reason = fmt.Sprintf("interrupted; nothing broke in the %d episodes until then", r.Episodes)
	}
}

// certify writes the certificate that is wanted, if the search is ground for one.
func (r *runCmd) certify(cfg sim.Config, result sim.Result) error {
	if r.Certificate == "" || result.Verdict != sim.VerdictOK {
		return nil
	}
	certificate, err := cfg.Certify(result)
	if err != nil {
		return err
	}
	var data bytes.Buffer
	if err := certificate.Write(&data); err != nil {
		return err
	}
	return wholefile.Write(r.Certificate, data.Bytes())
}
