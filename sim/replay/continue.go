package replay

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/sim/internal/draw"
	"github.com/zktorture/zktorture/sim/internal/runner"
	"github.com/zktorture/zktorture/sim/internal/shrink"
	"github.com/zktorture/zktorture/sim/world"
)

// Continuation is the results of runs that began like a counterexample and then went on at random.
type Continuation struct {
	Step    int // the last one that was the counterexample's
	Runs    int
	Broken  int // runs that ended in a violation of the same property
	Unknown int // runs that could not be judged, and did not end in it
}

// Continuations asks after which step a violation was hard to avoid. From each step of the torture phase of a
// replayed counterexample, step 0 being the plan of the users' operations, it makes that many runs with new choices
// (fewer if runs are long, or leave goroutines behind), and counts how often the same property breaks. The answer
// depends on the counterexample alone, not on the machine or on GOMAXPROCS.
//
// The error is for a run in which nothing broke, for a frozen world ([ErrFrozen]) and for a context that ended.
func Continuations(ctx context.Context, w world.Workload, c *Counterexample, r *Replayed, runs int) ([]Continuation, error) {
	terms, err := c.Terms()
	if err != nil {
		return nil, err
	}
	if r.Violation == nil {
		return nil, fmt.Errorf("%w: nothing broke in the replay, so there is nothing to avoid", runner.ErrTerms)
	}
	f := &forks{workload: w, terms: terms, replayed: r, runs: runs, exact: c.Exact, points: make([]Continuation, len(r.Record.Marks)), left: runner.NewLeavings()}
	if r.Violation.Property == "goroutine-leak" {
		f.runs = min(runs, max(1, shrink.Leaks/len(f.points)))
	}
	f.runs = min(f.runs, max(continuedMin, continuedSteps/(len(f.points)*max(1, r.steps()))))
	if err := f.all(ctx); err != nil {
		return nil, err
	}
	return f.points, nil
}

// Bounds of the effort: runs of recipes that ask again and again for ever take as many steps as there may be.
const (
	continuedSteps = 5_000_000
	continuedMin   = 10 // runs of each step, however long they are
)

// steps is how many steps the run took.
func (r *Replayed) steps() int {
	if len(r.Trace) == 0 {
		return 0
	}
	return r.Trace[len(r.Trace)-1].N
}

// forks is a Continuations under way.
type forks struct {
	workload world.Workload
	terms    runner.Terms
	replayed *Replayed
	runs     int
	exact    bool
	points   []Continuation
	next     atomic.Int64 // step that nobody has begun yet
	left     runner.Leavings
}

// all goes through the steps with as many workers as there are processors.
func (f *forks) all(ctx context.Context) error {
	working, halt := context.WithCancel(ctx)
	defer halt()
	work := func(dog *runner.Watchdog) { f.work(working, dog) }
	if why := runner.Guard(ctx, runtime.GOMAXPROCS(0), work, func() {}, halt); why != "" {
		return runner.Undone(why)
	}
	return ctx.Err()
}

func (f *forks) work(ctx context.Context, dog *runner.Watchdog) {
	servers := fakezk.New(fakezk.Config{})
	for step := f.next.Add(1) - 1; step < int64(len(f.points)); step = f.next.Add(1) - 1 {
		f.points[step].Step = int(step)
		for i := 0; i < f.runs && ctx.Err() == nil; i++ {
			e := f.terms.Episode(f.fork(int(step), i))
			e.Servers, e.Dog = servers, dog
			e.Exact = f.exact
			o := runner.Run(f.workload, e)
			if o.Leaked && f.left.TooMuch() {
				return
			}
			f.points[step].count(o, f.replayed.Violation.Property)
		}
	}
}

func (p *Continuation) count(o *world.Run, property string) {
	p.Runs++
	switch {
	case o.Breaks(property) != nil:
		p.Broken++
	case o.Unknown != "":
		p.Unknown++
	}
}

// fork returns the source of the i-th continuation from a step on.
func (f *forks) fork(step, i int) world.Source {
	number := uint64(step)<<32 | uint64(i)
	record := f.replayed.Record
	return draw.Fork(record.Choices[:record.Marks[step]], f.replayed.Hash, number)
}
