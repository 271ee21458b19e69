package sim

import (
	"github.com/zktorture/zktorture/internal/resource"
	"github.com/zktorture/zktorture/sim/internal/runner"
	"github.com/zktorture/zktorture/sim/internal/shrink"
	"github.com/zktorture/zktorture/sim/world"
)

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
	s.Told = func() { c.progressOf(s) }
	c.serial.Tick = s.Told
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
