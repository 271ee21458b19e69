package sim

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/sim/internal/runner"
	"github.com/zktorture/zktorture/sim/internal/search"
	"github.com/zktorture/zktorture/sim/tally"
	"github.com/zktorture/zktorture/sim/world"
)

// exhaust runs all executions within the bound of the campaign.
func (c *campaign) exhaust(ctx, stop context.Context, dog *runner.Watchdog) {
	s := search.New(search.Bound{
		AtMost: c.cfg.AtMost, Users: c.cfg.Users, Backwards: c.cfg.Backwards, Without: c.cfg.Without, Plain: c.cfg.Plain,
		Share: c.cfg.Share, Shares: c.cfg.Shares, StepsMax: runner.StepsMax,
	})
	c.search = s
	if c.cfg.Checkpoint != "" {
		if s.Why = c.load(s); s.Why != nil {
			return
		}
		defer c.leave(s)
	}
	servers := fakezk.New(fakezk.Config{})
	var before []world.Made
	memory := world.NewMemory()
	saved := time.Now()
	for {
		cfg := c.cfg.episode(tally.Unnumbered, nil)
		cfg.Servers, cfg.Made, cfg.Memory, cfg.Number, cfg.Dog = servers, before, memory, s.Runs, dog
		o := s.In(cfg, func(e *runner.Episode) *world.Run { return runner.Run(c.workload, e) })
		if before = o.Made; o.Aborted == runner.ErrInterrupted {
			s.Why = c.spent(ctx, stop, s)
			return
		}
		if o.Aborted == nil {
			if c.counts(o) {
				if o = c.alone(o, servers, dog); !c.counts(o) {
					s.Why = search.ErrOnGrid
				}
			}
			c.record(tally.Unnumbered, o)
		}
		switch {
		case s.Why != nil || len(c.part.Found) > 0 && !c.cfg.Whole:
			return
		case !s.Next():
			s.Complete = true
			return
		}
		if s.Why = c.spent(ctx, stop, s); s.Why != nil {
			return
		}
		if c.cfg.Checkpoint != "" && time.Since(saved) > checkpointEvery {
			if s.Why = c.save(s); s.Why != nil {
				return
			}
			saved = time.Now()
		}
	}
}

// leave leaves a checkpoint behind of a search that may go on.
func (c *campaign) leave(s *search.Search) {
	switch {
	case errors.Is(s.Why, errCheckpoint): // somebody else's
	case s.Complete || len(c.part.Found) > 0 && !c.cfg.Whole:
		os.Remove(c.cfg.Checkpoint)
	case s.Runs > 0:
		if err := c.save(s); err != nil {
			s.Why = errors.Join(s.Why, err)
		}
	}
}

// alone makes a run of a search again as any other: only what can be replayed counts.
func (c *campaign) alone(o *world.Run, servers *fakezk.Ensemble, dog *runner.Watchdog) *world.Run {
	cfg := c.cfg.episode(tally.Unnumbered, o.Choices.Replay())
	cfg.Servers, cfg.Dog, cfg.Exact = servers, dog, false
	return runner.Run(c.workload, cfg)
}

// searchedMax bounds the memory of a search: a state takes some 40 bytes.
const searchedMax = 20_000_000

// spent tells why a search may not go on.
func (c *campaign) spent(ctx, stop context.Context, s *search.Search) error {
	switch {
	case s.Runs >= c.cfg.Episodes:
		return fmt.Errorf("%d runs were made", s.Runs)
	case len(s.Seen) >= searchedMax:
		return fmt.Errorf("memory: %d states were seen", len(s.Seen))
	case ctx.Err() != nil || stop.Err() != nil:
		return fmt.Errorf("time: %v were over", time.Since(c.begin).Round(time.Millisecond))
	}
	return nil
}

// counts reports whether an episode breaks a property that counts.
func (c *campaign) counts(o *world.Run) bool {
	all := c.cfg.Until == "" || c.cfg.Until == tally.AnyProperty
	return all && len(o.Violations) > 0 || o.Breaks(c.cfg.Until) != nil
}

// reached says how far a search, or a share of one, has come.
func reached(s *search.Search) *tally.Search {
	p := &tally.Search{
		Shares: 1, Runs: s.Runs, Estimated: s.Runs, States: len(s.Seen), Ends: s.Ends, Digest: s.Digest,
	}
	switch {
	case s.Why != nil:
		p.Why, p.WhyOf = s.Why.Error(), s.Share
	case !s.Complete:
		p.Why, p.WhyOf = "a violation was found", s.Share
	}
	if !s.Complete {
		p.Estimated = int(float64(s.Runs) / max(s.Done(), 1e-9))
	}
	return p
}
