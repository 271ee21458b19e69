package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/internal/digest"
	"github.com/zktorture/zktorture/sim/internal/explore"
	"github.com/zktorture/zktorture/sim/internal/runner"
	"github.com/zktorture/zktorture/sim/tally"
	"github.com/zktorture/zktorture/sim/world"
)

// Bound says which executions [Explore] runs: of the simplest plan of a workload, those in which no more faults strike and
// no more departures are made. An execution is as an episode of [Run]: its torture phase has at most 400 steps.
type Bound struct {
	Clients    int          // that take part; default 2
	Ops        int          // of each; default 1
	Faults     world.Faults // what may strike
	Strikes    int          // the most faults that strike in an execution
	Departures int          // how often in an execution, at most, another thing happens next than the same client's next step

	Runs       int            // the most executions that are run; 0: no limit
	Duration   time.Duration  // how long they are run; 0: no limit
	NoShrink   bool           // as in [Config], as are …
	ShrinkTime time.Duration  // … this …
	Progress   func(Progress) // … and this
}

// Explored says which executions were run.
type Explored struct {
	Clients    int    `json:"clients"`
	Ops        int    `json:"ops"`
	Faults     string `json:"faults"`
	Strikes    int    `json:"strikes"`    // at most
	Departures int    `json:"departures"` // at most: with so many every execution was run; -1 if not even with none
	Runs       int    `json:"runs"`       // the executions with so many
	Hash       string `json:"hash,omitempty"`
	Total      int    `json:"total"` // that were run: those with few departures again for each number of them, and what is not complete
	Wanted     int    `json:"wanted"`
	Short      string `json:"short,omitempty"` // why those with more departures, up to the number wanted, were not all run
}

// Complete reports whether every execution within the bound was run.
func (e *Explored) Complete() bool { return e.Departures == e.Wanted }

// String says it in a line.
func (e *Explored) String() string {
	within := fmt.Sprintf("clients %d, operations %d, faults ≤ %d (%s), departures ≤ %d", e.Clients, e.Ops, e.Strikes, e.Faults,
		max(e.Departures, 0))
	switch {
	case e.Complete():
		return fmt.Sprintf("COMPLETE: %d executions, hash %s: %s", e.Runs, e.Hash, within)
	case e.Departures < 0:
		return fmt.Sprintf("NOT COMPLETE (%s): %s", e.Short, within)
	}
	return fmt.Sprintf("NOT COMPLETE (%s): complete are %d executions, hash %s: %s", e.Short, e.Runs, e.Hash, within)
}

// Explore runs every execution of a workload within a bound: first those without departures from the simplest order of
// what happens, then those with at most one, and so on, until one breaks a property. When ctx ends, Runs have been made or
// Duration is over it stops with the result so far, which says how far that is: [Result.Explored]. Each execution is one
// that [Replay] runs again, in process or over the wire. The error is for bounds that cannot be.
func Explore(ctx context.Context, workload world.Workload, bound Bound) (Result, error) {
	x, err := newExploration(workload, bound)
	if err != nil {
		return Result{}, err
	}
	return x.explore(ctx), nil
}

// exploration is an Explore under way. Its campaign has no numbers of episodes.
type exploration struct {
	*campaign
	bound  Bound
	search explore.Search
	ran    func(*world.Run) // if set, is shown each execution
	result Explored
}

func newExploration(workload world.Workload, bound Bound) (*exploration, error) {
	if bound.Strikes < 0 || bound.Strikes > world.AtMostMax || bound.Departures < 0 || bound.Runs < 0 {
		return nil, fmt.Errorf("%w: at most %d faults, %d departures and %d runs: 0 to %d faults are possible, and nothing below 0",
			ErrConfig, bound.Strikes, bound.Departures, bound.Runs, world.AtMostMax)
	}
	c, err := newCampaign(workload, bound.Config())
	if err != nil {
		return nil, err
	}
	return &exploration{campaign: c, bound: bound, search: explore.Search{Strikes: bound.Strikes}, result: Explored{
		Clients: c.cfg.Clients, Ops: c.cfg.Ops, Faults: bound.Faults.String(), Strikes: bound.Strikes, Departures: -1,
		Wanted: bound.Departures,
	}}, nil
}

// Config is that of a campaign of the same episodes, for [Config.Counterexample].
func (b Bound) Config() Config {
	return Config{
		Episodes: endless, Faults: b.Faults, NoFaultsAtAll: true, Clients: cmp.Or(b.Clients, 2), Ops: cmp.Or(b.Ops, 1),
		NoShrink: b.NoShrink, ShrinkTime: b.ShrinkTime, Progress: b.Progress,
	}
}

func (x *exploration) explore(ctx context.Context) Result {
	x.ctx = ctx
	stop, halt := context.WithCancel(ctx)
	if d := x.bound.Duration; d > 0 {
		stop, halt = context.WithTimeout(ctx, d)
	}
	defer halt()
	work := func(dog *runner.Watchdog) { x.run(stop, dog) }
	x.freeze(runner.Guard(ctx, 1, work, x.progress, halt))
	x.campaign.progress()
	r := x.conclude(x.ctx)
	r.Strategy, r.Explored = DepthFirst, &x.result
	return r
}

// DepthFirst is the strategy of the results of [Explore].
const DepthFirst = "depth-first"

// run runs the executions with no departure, then those with one at most, and so on.
func (x *exploration) run(ctx context.Context, dog *runner.Watchdog) {
	episode := x.cfg.terms(tally.Unnumbered).Episode(&x.search)
	episode.Servers, episode.Memory, episode.Dog = fakezk.New(fakezk.Config{}), world.NewMemory(), dog
	for x.search.Departures = 0; x.search.Departures <= x.bound.Departures; x.search.Departures++ {
		if x.result.Short = x.runAll(ctx, episode); x.result.Short != "" {
			return
		}
		x.result.Departures = x.search.Departures
	}
}

// runAll runs all executions with at most the present number of departures, or says why not.
func (x *exploration) runAll(ctx context.Context, episode *runner.Episode) (short string) {
	var hash digest.Sum
	for runs := 1; ; runs++ {
		if short = x.spent(ctx); short != "" {
			return short
		}
		x.search.Begin()
		o := runner.Run(x.workload, episode)
		switch {
		case o.Aborted == runner.ErrInterrupted:
			return "interrupted"
		case o.Aborted != nil || x.search.Diverged():
			x.freeze(explore.ErrDiverged.Error())
			return explore.ErrDiverged.Error()
		}
		x.result.Total++
		x.record(tally.Unnumbered, o)
		if x.ran != nil {
			x.ran(o)
		}
		hash.Int(int64(o.Hash))
		switch {
		case len(o.Violations) > 0:
			return "one breaks a property"
		case !x.search.Advance():
			x.result.Runs, x.result.Hash = runs, digest.Hex(uint64(hash))
			return ""
		}
	}
}

// spent says why no more executions are run, "" if there is no reason.
func (x *exploration) spent(ctx context.Context) string {
	switch {
	case x.bound.Runs > 0 && x.result.Total >= x.bound.Runs:
		return fmt.Sprintf("the %d runs have been made", x.bound.Runs)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Sprintf("the %v are over", x.bound.Duration)
	case ctx.Err() != nil:
		return "interrupted"
	}
	return ""
}
