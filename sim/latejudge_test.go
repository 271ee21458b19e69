package sim_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// slowly is a workload whose judge takes its time, in which it computes, once the world has ended.
type slowly struct {
	sim.Workload
	takes time.Duration
}

func (s slowly) Plan(p *world.Plan) world.Episode { return slowEpisode{s.Workload.Plan(p), s.takes} }

type slowEpisode struct {
	world.Episode
	takes time.Duration
}

func (e slowEpisode) Judge(w *world.World) world.Judgement {
	j := e.Episode.Judge(w)
	then := j.Later
	j.Later = func() (later world.Judgement) {
		for end := time.Now().Add(e.takes); time.Now().Before(end); { // it works
		}
		if then != nil {
			later = then()
		}
		return later
	}
	return j
}

// childJudge runs a campaign whose judge takes longer than a world may stand still.
func childJudge([]string) error {
	w := workload.Lock(func(c recipes.Conn, path string) workload.Locker { return recipes.NewLock(c, path) })
	r, err := sim.Run(context.Background(), slowly{w, 1250 * time.Millisecond}, sim.Config{Episodes: 1, Seed: 1})
	fmt.Printf("verdict %s: %s\n", r.Verdict, r.Reason)
	return err
}

// A judge that takes long is no frozen world: the world has ended, and the judge has limits of its own.
func TestALongJudgeIsNoFrozenWorld(t *testing.T) {
	t.Parallel()
	if out, _ := child(t, "judge"); !strings.Contains(out, "verdict ok") {
		t.Errorf("the judge took longer than a world may stand still: %s", out)
	}
}
