package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/sim/world"
)

// Serial runs episodes one after the other, and notices when a world stands still.
type Serial struct {
	ctx      context.Context
	workload world.Workload
	servers  *fakezk.Ensemble
	memory   *world.Memory
	Tick     func()    // if set, it is called ten times a second while an episode runs
	Frozen   error     // why the last world that stood still did
	last     time.Time // when nothing more is to be run; zero: the context has not ended, as far as is known
	Full     bool      // what episodes have left behind takes too much memory
}

func NewSerial(ctx context.Context, w world.Workload) *Serial {
	return &Serial{ctx: ctx, workload: w, servers: fakezk.New(fakezk.Config{}), memory: world.NewMemory()}
}

// Run runs an episode. A world that stands still is left behind with its servers, and the outcome is empty. So it is
// when the context has ended grace ago.
func (s *Serial) Run(cfg *Episode) *world.Run {
	if s.Interrupted() {
		if s.last.IsZero() {
			s.last = time.Now().Add(grace)
		}
		if time.Now().After(s.last) {
			return &world.Run{}
		}
	}
	cfg.Servers, cfg.Memory, cfg.Dog = s.servers, s.memory, &Watchdog{}
	var o *world.Run
	done := make(chan struct{})
	go func() {
		defer close(done) // also when testing ends the goroutine, as it does after a report of the race detector
		o = Run(s.workload, cfg)
	}()
	tick := s.Tick
	if tick == nil {
		tick = func() {}
	}
	if why := watch(s.ctx, done, tick, func() {}, cfg.Dog); why != "" {
		s.servers, s.memory = fakezk.New(fakezk.Config{}), world.NewMemory()
		s.Frozen = fmt.Errorf("%w: %s", ErrFrozen, why)
		return &world.Run{}
	}
	if o == nil {
		cfg.Dog.abandon()
		s.Frozen = errors.New(EpisodeCut)
		return &world.Run{}
	}
	s.Full = s.Full || o.Leaked && LeftTooMuch()
	return o
}

func (s *Serial) Interrupted() bool { return s.ctx.Err() != nil }
