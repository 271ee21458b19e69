package sim_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
)

// turns counts on whose goroutine turns are taken.
type turns struct {
	world.Blind
	world.Source
	all, led int
}

func (s *turns) Turns(*world.View) {
	pc := make([]uintptr, 16)
	frames := runtime.CallersFrames(pc[:runtime.Callers(1, pc)])
	s.all++
	for more := true; more; {
		var frame runtime.Frame
		if frame, more = frames.Next(); strings.HasSuffix(frame.Function, ".leads") {
			s.led++
		}
	}
}

// Most turns are taken by the goroutine that the turn before has woken. In a run with a trace none is, and it is the same
// run; and so is the next one after an episode that was given up in such a turn.
func TestLeading(t *testing.T) {
	notExact(t) // there nobody leads
	if !strings.HasSuffix(runtime.GOARCH, "64") {
		t.Skip("it is not known who is alone")
	}
	for _, kind := range []string{"lock", "rwlock", "queue", "doublebarrier", "counter"} {
		w, hash := find(t, kind, "ours"), sim.NewHasher()
		var all turns
		for seed := range uint64(testkit.Share(40)) {
			s := &turns{Source: sim.NewRandomSource(seed, 0)}
			led, whole := hash(w, sim.Config{}, s), sim.RunOne(w, sim.Config{}, sim.NewRandomSource(seed, 0))
			if led != whole.Hash {
				t.Errorf("%s, seed %d: the hash is %016x, with a trace %016x", kind, seed, led, whole.Hash)
			}
			hash(w, sim.Config{}, &quitter{sim.NewRandomSource(seed, 0), int(seed) * whole.Made / 40})
			if again := hash(w, sim.Config{}, sim.NewRandomSource(seed, 0)); again != led {
				t.Errorf("%s, seed %d: another run after one that was given up", kind, seed)
			}
			all.all, all.led = all.all+s.all, all.led+s.led
		}
		if all.led < all.all/2 {
			t.Errorf("%s: %d of %d turns are led, want half", kind, all.led, all.all)
		}
	}
}
