package sim

import (
	"github.com/zktorture/zktorture/internal/resource"
	"github.com/zktorture/zktorture/sim/internal/runner"
	"github.com/zktorture/zktorture/sim/internal/shrink"
	"github.com/zktorture/zktorture/sim/replay"
	"github.com/zktorture/zktorture/sim/tally"
	"github.com/zktorture/zktorture/sim/world"
)

// rerunShare: one of that many passing episodes is run again. Of a thousand that is sixteen: a recipe that differs in
// one of ten is noticed four times out of five, one that hardly ever differs is not.
const rerunShare = 64

// repeat runs choices of an episode again, with a trace.
func (c *campaign) repeat(episode int, choices world.Choices) (*world.Run, []world.Step) {
	var trace []world.Step
	cfg := c.cfg.episode(episode, choices.Replay())
	cfg.Trace = &trace
	return c.serial.Run(cfg), trace
}

// settleRun gives a counterexample the trace of a run that breaks its property, and notes where runs of equal choices
// part.
func (c *campaign) settleRun(f *Found) {
	o, trace := c.repeat(f.Episode, f.Choices)
	f.Divergence = c.divergence(f.Episode, f.Choices, o, trace) // nil if the campaign was interrupted
	for range replay.RepeatsMax {
		if f.Divergence == nil || o.Breaks(f.Property) != nil {
			break
		}
		o, trace = c.repeat(f.Episode, f.Choices)
	}
	if v := o.Breaks(f.Property); v != nil {
		f.Violation = *v
	}
	f.Trace, f.Hash, f.History = trace, o.Hash, o.History
	f.Clients, f.Faults, f.Steps, f.Wire = o.Clients, o.Faults, o.Tortured, o.Wire
	f.Rare = c.rare(o.Drawn)
}

// comparisons is how often a run is compared with another one of the same choices.
const comparisons = 5

// divergence runs choices again and says where that first differs from a given run; nil if it never does.
func (c *campaign) divergence(episode int, choices world.Choices, o *world.Run, trace []world.Step) *replay.Divergence {
	var d *replay.Divergence
	for range comparisons {
		other, line := c.repeat(episode, choices)
		if c.serial.Frozen != nil || c.serial.Interrupted() {
			return nil
		}
		if other.Hash == o.Hash && replay.Diverged(replay.Lines(trace), replay.Lines(line)) < 0 {
			continue
		}
		if p := parted(trace, line); d == nil || p.Step < d.Step {
			d = p
		}
	}
	return d
}

// parted names the first lines in which two traces differ.
func parted(x, y []world.Step) *replay.Divergence {
	a, b := replay.Lines(x), replay.Lines(y)
	i := replay.Diverged(a, b)
	d := &replay.Divergence{}
	for _, run := range []struct {
		steps []world.Step
		lines []string
		line  *string
	}{{y, b, &d.Other}, {x, a, &d.One}} {
		switch {
		case i >= 0 && i < len(run.lines):
			d.Step, *run.line = run.steps[i].N, run.lines[i]
		case len(run.steps) > 0:
			d.Step = max(d.Step, run.steps[len(run.steps)-1].N)
		}
	}
	return d
}

// rerun runs an episode again and compares.
func (c *campaign) rerun(index int, o *world.Run, ran *runner.Episode) {
	cfg := c.cfg.episode(index, o.Choices.Replay())
	cfg.Servers, cfg.Dog = ran.Servers, ran.Dog
	again := runner.Run(c.workload, cfg)
	if again.Aborted == runner.ErrInterrupted {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.part.Rerun.Episodes++
	if again.Hash != o.Hash {
		c.part.Differ(1, &tally.Episode{Episode: index, Choices: o.Choices, Price: []int{index}})
	}
}

// explainRerun finds out where the runs of the first episode that differed part; nil if none did, or no more do.
func (c *campaign) explainRerun() (d *replay.Divergence) {
	differed := c.part.Differed
	if differed == nil || c.part.Frozen != "" || c.serial.Frozen != nil || c.serial.Interrupted() {
		return nil
	}
	for range replay.RepeatsMax / comparisons {
		o, trace := c.repeat(differed.Episode, differed.Choices)
		if d = c.divergence(differed.Episode, differed.Choices, o, trace); d != nil {
			break
		}
	}
	return d
}

// minimise makes a counterexample small, and gives it the trace of the smallest run, which is a function of the choices.
func (c *campaign) minimise(f *Found) {
	s := &shrink.Shrinker{
		Property: f.Property, Budget: shrink.Runs, Serial: c.serial, Time: c.cfg.ShrinkTime,
		Episode: func(source world.Source) *runner.Episode { return c.cfg.episode(f.Episode, source) },
	}
	if c.cfg.ShrinkTime > 0 {
		if c.due == (resource.Limit{}) {
			c.due = resource.Within(c.cfg.ShrinkTime)
		}
		s.Due = c.due
	}
	switch {
	case c.cfg.NoShrink || c.part.Frozen != "":
		s.Budget = 0
	case f.Property == "goroutine-leak":
		s.Budget = shrink.Leaks
	}
	c.serial.Tick = func() { c.progressOf(s) }
	f.Choices = s.Minimise(f.Choices)
	f.Unfinished = s.Unfinished
	c.settleRun(f)
}

// progressOf tells how far the minimising is.
func (c *campaign) progressOf(s *shrink.Shrinker) {
	if c.cfg.Progress == nil {
		return
	}
	p := c.reached()
	runs, best := s.Reached()
	p.Minimising = &Minimising{Property: s.Property, Runs: runs}
	if best != nil {
		p.Minimising.Clients, p.Minimising.Faults, p.Minimising.Steps = best.Clients, best.Faults, best.Tortured
	}
	c.cfg.Progress(p)
}
