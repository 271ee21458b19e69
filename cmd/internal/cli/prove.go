package cli

import (
	"time"

	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	"github.com/zktorture/zktorture/cmd/internal/cli/output"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/story/index"
)

// ProveCmd runs all executions within a bound.
type ProveCmd struct {
	Kind       string        `arg:"" help:"The kind of recipe to test: see torture list." enum:"${kinds}"`
	Recipe     string        `help:"Implementation to test (see torture list). Default: the first that torture list shows." placeholder:"RECIPE"`
	Clients    int           `help:"Clients." default:"2" range:"1..64"`
	Ops        int           `help:"Operations of each client." default:"1" range:"1..1000"`
	Faults     SimFaults     `default:"all" placeholder:"FAULTS" help:"The faults that may strike: names from torture list with commas between them, all, or none; all,-loss leaves one out. Default: all."`
	AtMost     int           `help:"Maximum faults in an execution, 0 to 6." default:"1" range:"0..6"`
	Departures int           `help:"How often in an execution, at most, another thing happens next than the same client's next step." default:"2" range:"0.."`
	Wire       bool          `help:"Use go-zookeeper's own client: what goes over its connections is simulated, too."`
	Exact      bool          `help:"Replay and shrink the decisions of the Go runtime, too (docs/exact.md)."`
	Runs       int           `help:"The most executions to run. Default: no limit." range:"1.."`
	Duration   time.Duration `help:"How long to run. Default: no limit." range:">0"`
	Out        string        `placeholder:"DIR" help:"A folder for results, which must not exist. Default: only counterexamples are written, to counterexamples/."`
	JSON       bool          `name:"json" help:"Print one JSON object, and nothing else, to standard output."`
	JUnit      string        `name:"junit" placeholder:"FILE" help:"Write the verdicts as JUnit XML, with the story of each failure. Overwrites FILE."`
}

// Run executes the command.
func (p *ProveCmd) Run(c *console.Context) error {
	t := Trial{Recipe: p.Recipe, Clients: p.Clients, Ops: p.Ops, Seed: new(uint64), Out: p.Out, JSON: p.JSON,
		CIFlags: output.CIFlags{JUnit: p.JUnit}, backend: "sim", strategy: sim.DepthFirst}
	w, err := t.Find(p.Kind)
	if err != nil {
		return err
	}
	if p.Wire {
		t.backend, w = "wire", w.OverWire()
	}
	if p.Exact {
		if err := c.Exactly(); err != nil {
			return err
		}
	}
	begin := index.Begin{Workload: p.Kind, Faults: p.Faults.Text, Episodes: p.Runs, Duration: p.Duration.Seconds()}
	return t.Within(c, begin, func(out *output.Folder) error {
		bar := output.NewBar(c, p.JSON, p.Runs, p.Duration)
		bound := sim.Bound{Clients: p.Clients, Ops: p.Ops, Faults: p.Faults.Set, Strikes: p.AtMost, Departures: p.Departures,
			Runs: p.Runs, Duration: p.Duration, ShrinkTime: ShrinkTime, Progress: bar.Show}
		defer c.EndSoon(bar.Status)()
		result, err := sim.Explore(c, w, bound)
		bar.Line.End()
		if err != nil {
			return err
		}
		return t.report(c, w, out, result, out.Counterexamples(bound.Config(), result))
	})
}
