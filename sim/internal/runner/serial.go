package runner

import (
	"context"
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
	Tick     func() // is called ten times a second while episodes run
	Frozen   error  // why the last world that stood still did
	ticked   time.Time
	last     time.Time // when nothing more is to be run; zero: the context has not ended, as far as is known
	Left     Leavings  // of the run
	Full     bool      // what episodes have left behind takes too much memory
}

func NewSerial(ctx context.Context, w world.Workload) *Serial {
	return &Serial{ctx: ctx, workload: w, Tick: func() {}, servers: fakezk.New(fakezk.Config{}), memory: world.NewMemory(), Left: NewLeavings()}
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
	cfg.Servers, cfg.Memory = s.servers, s.memory
	if time.Since(s.ticked) > progressEvery {
		s.ticked = time.Now()
		s.Tick()
	}
	var o *world.Run
	why := Guard(s.ctx, 1, func(dog *Watchdog) {
		cfg.Dog = dog
		o = Run(s.workload, cfg)
	}, s.Tick, func() {})
	if why != "" {
		s.servers, s.memory, s.Frozen = fakezk.New(fakezk.Config{}), world.NewMemory(), Undone(why)
		return &world.Run{}
	}
	s.Full = s.Full || o.Leaked && s.Left.TooMuch()
	return o
}

func (s *Serial) Interrupted() bool { return s.ctx.Err() != nil }
