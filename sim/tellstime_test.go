package sim_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
)

// timeouts is a workload of one process with two goroutines: each sets a timer, sends a request, and waits for both. Who
// of them goes on first is seen in what they then ask for.
type timeouts struct{ promised, told bool }

func (t timeouts) Name() string   { return "timeouts" }
func (t timeouts) Recipe() string { return fmt.Sprintf("%+v", t) }
func (t timeouts) Terms() world.Terms {
	return world.Terms{TellsTime: t.promised}
}

func (t timeouts) Plan(p *world.Plan) world.Episode {
	return &timeoutsEpisode{path: p.Root + "/first", told: t.told}
}

type timeoutsEpisode struct {
	path string
	told bool

	mu    sync.Mutex
	first int // the user that went on first, from 1
}

func (e *timeoutsEpisode) Users() []int                           { return []int{2} }
func (e *timeoutsEpisode) Parents() []string                      { return []string{world.Root0} }
func (e *timeoutsEpisode) MayWaitForever(*world.World) bool       { return false }
func (e *timeoutsEpisode) Judge(*world.World) (j world.Judgement) { return j }

func (e *timeoutsEpisode) Run(u *world.User) {
	conn := u.Conn()
	conn.Exists(e.path)
	if e.told {
		conn.BeginsToWait()
	}
	timer := time.NewTimer(time.Second)
	conn.Exists(e.path)
	<-timer.C
	conn.Create(fmt.Sprint(e.path, e.goesOn(u)), nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
}

func (e *timeoutsEpisode) goesOn(u *world.User) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.first == 0 {
		e.first = u.Index + 1
	}
	return e.first
}

// Equal time-outs of two goroutines of one process do not end at one instant, if the world is not told when they begin,
// or is. It needs to be told, where that is promised: else the runs are the Go scheduler's.
func TestEqualTimeoutsDoNotMeet(t *testing.T) {
	notExact(t) // there the scheduler's choices are the run's
	for _, w := range []timeouts{{}, {told: true}, {promised: true, told: true}, {promised: true}} {
		differed := 0
		for seed := range uint64(max(testkit.Share(40), 4)) {
			first := sim.HashOne(w, sim.Config{}, sim.NewRandomSource(seed, 0))
			for range 20 {
				if sim.HashOne(w, sim.Config{}, sim.NewRandomSource(seed, 0)) != first {
					differed++
				}
			}
		}
		if lies := w.promised && !w.told; lies != (differed > 0) {
			t.Errorf("%+v: %d runs differed from the first of their seed", w, differed)
		}
	}
}
