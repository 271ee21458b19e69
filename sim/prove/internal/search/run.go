package search

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/sim/internal/bound"
	"github.com/zktorture/zktorture/sim/internal/runner"
	"github.com/zktorture/zktorture/sim/world"
)

// Run runs all executions within the bound of the campaign.
func (s *search) Run(ctx, stop context.Context, dog *runner.Watchdog) {
	if s.Checkpoint != "" {
		if s.why = s.load(); s.why != nil {
			return
		}
		defer s.leave()
	}
	servers := fakezk.New(fakezk.Config{})
	var before []world.Made
	memory := world.NewMemory()
	saved := time.Now()
	once := func() *world.Run {
		cfg := s.Terms.Episode(nil)
		cfg.Servers, cfg.Made, cfg.Memory, cfg.Number, cfg.Dog = servers, before, memory, s.runs, dog
		o := s.in(cfg)
		if before = o.Made; o.Aborted == nil {
			if s.memory != nil && s.why == nil {
				s.concluded(o.End)
			}
			if s.Counts(o) {
				if o = s.alone(o, servers, dog); !s.Counts(o) {
					s.why = errOnGrid
				}
			}
			s.Record(o)
		}
		if o.Aborted == runner.ErrInterrupted {
			s.why = s.spent(ctx, stop)
		}
		return o
	}
	for {
		if s.memory != nil {
			s.explore(once, func() bool {
				s.why = s.spent(ctx, stop)
				return s.why == nil
			})
		} else {
			once()
		}
		switch {
		case s.stopped():
			return
		case !s.next():
			s.complete = true
			return
		}
		if s.why = s.spent(ctx, stop); s.why != nil {
			return
		}
		if s.Checkpoint != "" && time.Since(saved) > checkpointEvery {
			if s.why = s.save(); s.why != nil {
				return
			}
			saved = time.Now()
		}
	}
}

// leave leaves a checkpoint behind of a search that may go on.
func (s *search) leave() {
	switch {
	case errors.Is(s.why, errCheckpoint): // somebody else's
	case s.complete || s.Found() && !s.Whole:
		os.Remove(s.Checkpoint)
	case s.runs > 0:
		if err := s.save(); err != nil {
			s.why = errors.Join(s.why, err)
		}
	}
}

// alone makes a run of a search again as any other: only what can be replayed counts.
func (s *search) alone(o *world.Run, servers *fakezk.Ensemble, dog *runner.Watchdog) *world.Run {
	cfg := s.Terms.Episode(o.Choices.Replay())
	cfg.Servers, cfg.Dog, cfg.Exact = servers, dog, false
	return runner.Run(s.Workload, cfg)
}

// searchedMax bounds the memory of a search: a state takes some 60 bytes.
const searchedMax = 30_000_000

// spent tells why a search may not go on.
func (s *search) spent(ctx, stop context.Context) error {
	switch {
	case s.runs >= s.RunsMax:
		return fmt.Errorf("%d runs were made", s.runs)
	case s.seen.size >= searchedMax:
		return fmt.Errorf("memory: %d states were seen", s.seen.size)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("time: %v were over", time.Since(s.Begun).Round(time.Millisecond))
	case ctx.Err() != nil || stop.Err() != nil:
		return fmt.Errorf("it was interrupted after %v", time.Since(s.Begun).Round(time.Millisecond))
	}
	return nil
}

// Reached says how far the search, or the share of one, has come.
func (s *search) Reached() *bound.Reached {
	r := &bound.Reached{Shares: 1, Runs: s.runs, States: s.seen.size, Waiting: s.waiting.len(), Ends: s.ends, Digest: s.digest}
	at := 0
	for _, b := range s.stack {
		if b.Taken+1 < len(b.Options) && b.Met > at {
			at = b.Met
			r.Waiting++
		}
	}
	switch {
	case s.why != nil:
		r.Why, r.WhyOf = s.why.Error(), s.Share
	case s.complete:
	case s.Found():
		r.Why, r.WhyOf = "a violation was found", s.Share
	default:
		r.Why, r.WhyOf = "a run did not end", s.Share
	}
	return r
}
