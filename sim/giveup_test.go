package sim_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
)

// quitter makes the choices of another source and gives up before one of them, as rapid does in the
// middle of whatever happens when it has run out of data.
type quitter struct {
	source world.Source
	left   int
}

func (q *quitter) Choose(n int, label string) int {
	if q.left == 0 {
		world.GiveUp("overrun")
	}
	q.left--
	return q.source.Choose(n, label)
}

// An episode may be given up at any choice, also while its world is being built: it ends cleanly, and the next
// one on the same servers is as if nothing had been.
func TestEpisodeGivenUpAnywhere(t *testing.T) {
	notExact(t) // what the runtime decides is not chosen one by one
	before := runtime.NumGoroutine()
	for _, kind := range []string{"lock", "queue", "doublebarrier"} {
		w := find(t, kind, "ours")
		runOne := sim.Runner()
		for seed := range uint64(testkit.Share(6)) {
			whole := runOne(w, sim.Config{}, sim.NewRandomSource(seed, 0))
			for left := range whole.Made {
				o := runOne(w, sim.Config{}, &quitter{sim.NewRandomSource(seed, 0), left})
				if fmt.Sprint(o.Aborted) != "overrun" || len(o.Violations) > 0 || o.Unknown != "" {
					t.Fatalf("%s, seed %d, given up before choice %d of %d: aborted by %v, violations %v, unknown %q",
						kind, seed, left, whole.Made, o.Aborted, o.Violations, o.Unknown)
				}
			}
			if again := runOne(w, sim.Config{}, sim.NewRandomSource(seed, 0)); again.Hash != whole.Hash {
				t.Errorf("%s, seed %d: another run after those that were given up", kind, seed)
			}
		}
	}
	testkit.Until(t, "the goroutines have gone", func() bool { return runtime.NumGoroutine() <= before })
}

// failing is a workload that panics, which is a mistake of its author and not of the recipe.
type failing struct {
	sim.Workload
	at string
}

func (f failing) Plan(p *world.Plan) world.Episode {
	if f.at == "plan" {
		panic("out of ink")
	}
	return failingEpisode{f.Workload.Plan(p), f.at}
}

type failingEpisode struct {
	world.Episode
	at string
}

func (e failingEpisode) Run(u *world.User) {
	if e.at == "do" {
		u.Do("ink", func() string { panic("out of ink") })
	}
	e.Episode.Run(u)
}

func (e failingEpisode) Judge(w *world.World) world.Judgement {
	if e.at == "judge" {
		panic("out of ink")
	}
	return world.Judgement{Later: func() world.Judgement { panic("out of ink") }}
}

// A workload that panics has not been judged: the verdict is unknown, and says where that was.
func TestWorkloadThatPanics(t *testing.T) {
	for at, place := range map[string]string{"plan": "failing.Plan", "judge": "failingEpisode.Judge",
		"do": "failingEpisode.Run.func1", "later": "failingEpisode.Judge.func1"} {
		r := run(t, failing{find(t, "lock", "ours"), at}, sim.Config{Episodes: 3, Seed: 1})
		if r.Verdict != sim.VerdictUnknown || r.Undecided != 3 || !strings.Contains(r.Reason, "out of ink") ||
			!strings.Contains(r.Reason, place) {
			t.Errorf("%s: verdict %s, %d undecided: %s", at, r.Verdict, r.Undecided, r.Reason)
		}
	}
}
