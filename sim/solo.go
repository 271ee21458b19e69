package sim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zktorture/zktorture/fakezk"
)

// solo runs episodes one after the other, and notices when a world stands still.
type solo struct {
	ctx      context.Context
	workload Workload
	servers  *fakezk.Ensemble
	memory   *memory
	crash    *crashFile
	tick     func()    // if set, it is called ten times a second while an episode runs
	frozen   error     // why the last world that stood still did
	last     time.Time // when nothing more is to be run; zero: the context has not ended, as far as is known
	full     bool      // what episodes have left behind takes too much memory
}

func newSolo(ctx context.Context, w Workload, cfg Config) *solo {
	return &solo{ctx: ctx, workload: w, servers: fakezk.New(fakezk.Config{}), memory: newMemory(), crash: newCrashFile(w, cfg)}
}

// run runs an episode. A world that stands still is left behind with its servers, and the outcome is empty. So it is
// when the context has ended grace ago.
func (s *solo) run(cfg *episodeConfig) *outcome {
	if s.interrupted() {
		if s.last.IsZero() {
			s.last = time.Now().Add(grace)
		}
		if time.Now().After(s.last) {
			return &outcome{}
		}
	}
	cfg.servers, cfg.memory, cfg.dog = s.servers, s.memory, &watchdog{crash: s.crash}
	var o *outcome
	done := make(chan struct{})
	go func() {
		defer close(done) // also when testing ends the goroutine, as it does after a report of the race detector
		o = runEpisode(s.workload, cfg)
	}()
	tick := s.tick
	if tick == nil {
		tick = func() {}
	}
	if why := watch(s.ctx, done, tick, func() {}, cfg.dog); why != "" {
		s.crash.end(false)
		s.servers, s.memory, s.crash = fakezk.New(fakezk.Config{}), newMemory(), nil
		s.frozen = fmt.Errorf("%w: %s", ErrFrozen, why)
		return &outcome{}
	}
	if o == nil {
		cfg.dog.abandon()
		s.frozen = errors.New(episodeCut)
		return &outcome{}
	}
	s.full = s.full || o.leaked && leftTooMuch()
	return o
}

func (s *solo) interrupted() bool { return s.ctx.Err() != nil }

func (s *solo) end() { s.crash.end(true) }
