package sim_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
)

// What goes on in a world is seen however many goroutines there are, such as recipes have left behind.
func TestWorldIsSeenAmongMany(t *testing.T) {
	stop := make(chan struct{})
	var all sync.WaitGroup
	for range 10000 {
		all.Go(func() { <-stop })
	}
	if sim.WorldStands() {
		t.Error("a world is seen to stand where there is none")
	}
	for _, stands := range []bool{false, true} {
		var mu sync.Mutex
		mu.Lock()
		j := &judgesAt{begun: make(chan struct{}), wait: func(end *atomic.Bool) {
			for !stands && !end.Load() {
			}
			mu.Lock()
		}}
		all.Go(func() {
			sim.RunOne(judging{find(t, "lock", "ours"), j}, sim.Config{}, sim.NewRandomSource(1, 1))
		})
		<-j.begun
		testkit.Until(t, fmt.Sprint("a world is seen to stand: ", stands), func() bool { return sim.WorldStands() == stands })
		j.end.Store(true)
		mu.Unlock()
	}
	close(stop)
	all.Wait()
}

// judging is a workload whose judge waits.
type judging struct {
	sim.Workload
	*judgesAt
}

type judgesAt struct {
	begun chan struct{}
	end   atomic.Bool
	wait  func(end *atomic.Bool)
}

func (j judging) Plan(p *world.Plan) world.Episode {
	return judgingEpisode{j.Workload.Plan(p), j.judgesAt}
}

type judgingEpisode struct {
	world.Episode
	*judgesAt
}

func (e judgingEpisode) Judge(*world.World) world.Judgement {
	close(e.begun)
	e.wait(&e.end)
	return world.Judgement{}
}
