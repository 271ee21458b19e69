package sim_test

import (
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// cutting is a workload in one episode of which the goroutine that runs it ends, as testing ends it after a report of
// the race detector.
type cutting struct {
	sim.Workload
	left *atomic.Int64 // episodes until then
}

func (c cutting) Plan(p *world.Plan) world.Episode { return cutEpisode{c.Workload.Plan(p), c.left} }

type cutEpisode struct {
	world.Episode
	left *atomic.Int64
}

func (e cutEpisode) Judge(w *world.World) world.Judgement {
	j := e.Episode.Judge(w)
	then := j.Later
	j.Later = func() (later world.Judgement) {
		if e.left.Add(-1) == 0 {
			runtime.Goexit()
		}
		if then != nil {
			later = then()
		}
		return later
	}
	return j
}

// A campaign of which an episode was lost is no pass, and says why; if there are other workers these do the rest.
func TestLostEpisodeIsUnknown(t *testing.T) {
	ours := workload.Lock(func(c recipes.Conn, path string) workload.Locker { return recipes.NewLock(c, path) })
	for workers, least := range map[int]int{1: 1, 2: 19} {
		left := &atomic.Int64{}
		left.Store(3)
		r, err := sim.Run(t.Context(), cutting{ours, left}, sim.Config{Episodes: 20, Seed: 1, Workers: workers})
		told := r.Verdict == sim.VerdictUnknown && strings.Contains(r.Reason, "race detector")
		if err != nil || !told || r.Episodes < least {
			t.Errorf("%d workers: %s (%s) after %d episodes, %v", workers, r.Verdict, r.Reason, r.Episodes, err)
		}
	}
}
