package prove_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"pgregory.net/rapid"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/internal/bound"
	_ "github.com/zktorture/zktorture/sim/prove"
	"github.com/zktorture/zktorture/sim/tally"
	"github.com/zktorture/zktorture/sim/world"
)

// scribble is a workload of a few random requests a client. Each order of calls and returns with other results breaks a
// property of its own, so that what breaks is all that can be seen.
type scribble [][]string

const scribbled = "/t/s"

func (s scribble) Name() string                     { return "scribble" }
func (s scribble) Recipe() string                   { return "custom" }
func (s scribble) Terms() (t world.Terms)           { return t }
func (s scribble) Plan(*world.Plan) world.Episode   { return s }
func (s scribble) Users() []int                     { return slices.Repeat([]int{1}, len(s)) }
func (s scribble) Parents() []string                { return []string{scribbled} }
func (s scribble) MayWaitForever(*world.World) bool { return false }
func (s scribble) Judge(w *world.World) (j world.Judgement) {
	lines, _ := told(w)
	return world.Judgement{Violations: []world.Violation{{Property: strings.Join(lines, "\n")}}}
}

// told are the calls and returns, in their order, and the step of each.
func told(w *world.World) (lines []string, steps []int) {
	for _, op := range w.Ops() {
		lines = append(lines, fmt.Sprintf("%08d c%d calls %s", op.Call, op.Client, op.Name))
		if op.Return > 0 {
			lines = append(lines, fmt.Sprintf("%08d c%d: %v %s %v", op.Return, op.Client, op.Outcome, op.Result, op.Err))
		}
	}
	slices.Sort(lines)
	for i, line := range lines {
		var stamp int64
		fmt.Sscanf(line, "%d", &stamp)
		lines[i], steps = line[9:], append(steps, world.StepOf(stamp))
	}
	return lines, steps
}

func (s scribble) Run(u *world.User) {
	lost := min(u.Incarnation, len(s[u.Client])) // a crash costs one
	for _, what := range s[u.Client][lost:] {
		_, op := u.Begin(what, "", true)
		result, err := scribbles[what](u)
		op.End(world.OK, result, err)
	}
}

// scribbles are what a user can do.
var scribbles = map[string]func(u *world.User) (string, error){
	"make": func(u *world.User) (string, error) {
		return u.Conn().Create(scribbled+"/a", nil, 0, zk.WorldACL(zk.PermAll))
	},
	"enlist": func(u *world.User) (string, error) {
		return u.Conn().Create(scribbled+"/e-", nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
	},
	"remove": func(u *world.User) (string, error) { return "", u.Conn().Delete(scribbled+"/a", -1) },
	"list": func(u *world.User) (string, error) {
		names, _, err := u.Conn().Children(scribbled)
		return fmt.Sprint(len(names)), err
	},
	"await": func(u *world.User) (string, error) {
		_, _, events, err := u.Conn().ExistsW(scribbled + "/a")
		if err != nil {
			return "", err
		}
		return waited(events, 20*time.Millisecond), nil
	},
	"doze": func(u *world.User) (string, error) {
		_, _, events, err := u.Conn().ChildrenW(scribbled)
		if err != nil {
			return "", err
		}
		return waited(events, 50*time.Millisecond), nil
	},
	"tell": func(u *world.User) (string, error) {
		u.Do("tell", func() string { return "" })
		return "", nil
	},
}

func waited(events <-chan zk.Event, d time.Duration) string {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case e := <-events:
		return e.Type.String()
	case <-timer.C:
		return "nothing"
	}
}

// searcher is a test that searches.
type searcher interface {
	Context() context.Context
	Fatal(...any)
}

// seenBy returns all that can be seen of a workload, and false if that takes too many runs.
func seenBy(
	t searcher, w world.Workload, faults world.Faults, without bound.Reductions, backwards bool, runs int,
) (map[string]bool, tally.Extent) {
	return seenIn(t, w, sim.Config{Faults: faults, AtMost: 1, Without: without, Backwards: backwards, Episodes: runs})
}

// seenIn is seenBy of a search.
func seenIn(t searcher, w world.Workload, cfg sim.Config) (map[string]bool, tally.Extent) {
	cfg.Strategy, cfg.NoFaultsAtAll, cfg.Whole, cfg.NoShrink = sim.Exhaustive, true, true, true
	r, err := sim.Run(t.Context(), w, cfg)
	if err != nil || r.Reason != "" && !strings.HasSuffix(r.Reason, "were made") {
		t.Fatal(err, r.Reason)
	}
	seen := map[string]bool{}
	for _, f := range r.Violations {
		seen[f.Property] = true
	}
	return seen, r.Extent
}

// What a search leaves out cannot be seen: with all reductions, and with none, it finds the same.
func TestReductionsHideNothing(t *testing.T) {
	testkit.ManyWorlds(t)
	compared := 0
	rapid.Check(t, func(t *rapid.T) {
		names := slices.Sorted(maps.Keys(scribbles))
		script := rapid.SliceOfN(rapid.SampledFrom(names), 1, 2)
		w := scribble{script.Draw(t, "first"), script.Draw(t, "second")}
		faults := rapid.SampledFrom([]world.Faults{world.NoFaults, world.NoFaults, world.Loss, world.Expiry, world.Watch, world.Pause, world.Time, world.Cancel, world.Crash, world.Stall}).Draw(t, "faults")
		all, whole := seenBy(t, w, faults, bound.AllReductions, false, 2500)
		some, reduced := seenBy(t, w, faults, 0, false, 2500)
		if reduced.Word != tally.Complete || whole.Word != tally.Complete {
			return
		}
		compared++
		_, states := seenBy(t, w, faults, bound.AllReductions&^bound.ReduceStates, false, 2500)
		if !maps.Equal(all, some) || whole.Digest != states.Digest {
			t.Fatalf("without reductions %d runs see\n%v\nwith them %d see\n%v", whole.Runs, slices.Sorted(maps.Keys(all)),
				reduced.Runs, slices.Sorted(maps.Keys(some)))
		}
		if back, again := seenBy(t, w, faults, 0, true, 2500); !maps.Equal(back, some) || again.Digest != reduced.Digest {
			t.Fatalf("backwards %v, %v", again, slices.Sorted(maps.Keys(back)))
		}
	})
	if compared < 20 {
		t.Errorf("only %d searches came to their ends without reductions", compared)
	}
}

// Servers that are equal are one to the recipe: with clients that connect to each of them, and to one of those that are
// equal, a search sees the same.
func TestServersThatAreEqualAreOne(t *testing.T) {
	testkit.ManyWorlds(t)
	for _, faults := range []world.Faults{world.Lag, world.Deposed, world.Quorum} {
		for _, w := range []scribble{{{"make", "remove"}, {"list"}}, {{"await"}, {"make"}}} {
			all, whole := seenBy(t, w, faults, bound.ReduceServers|bound.ReduceVariants, false, 1<<20)
			some, reduced := seenBy(t, w, faults, 0, false, 1<<20)
			if _, back := seenBy(t, w, faults, 0, true, 1<<20); back.Digest != reduced.Digest {
				t.Errorf("%v, %v: %v, backwards %v", faults, w, reduced, back)
			}
			if whole.Word != tally.Complete || reduced.Word != tally.Complete || whole.Runs < 2*reduced.Runs {
				t.Errorf("%v, %v: %v; of equal servers one: %v", faults, w, whole, reduced)
			}
			for _, seen := range slices.Sorted(maps.Keys(all)) {
				if !some[seen] {
					t.Errorf("%v, %v: not seen by clients of one of the equal servers:\n%s", faults, w, seen)
				}
			}
			if len(some) != len(all) || len(some) < 2 {
				t.Errorf("%v, %v: %d and %d executions differ to their judge", faults, w, len(all), len(some))
			}
		}
	}
}

// couple is a scribble of one client, whose two users do the same.
type couple struct{ scribble }

func (c couple) Plan(*world.Plan) world.Episode { return c }
func (c couple) Users() []int                   { return []int{2} }

// A stall that may end at any moment shows all that one shows which ends late.
func TestAStallThatMayEndMayEndLate(t *testing.T) {
	w := couple{scribble{{"list", "make", "remove"}}}
	all, whole := seenBy(t, w, world.Stall, bound.ReduceVariants, false, 1<<20)
	some, reduced := seenBy(t, w, world.Stall, 0, false, 1<<20)
	if !maps.Equal(all, some) || whole.Runs <= reduced.Runs || reduced.Word != tally.Complete {
		t.Errorf("%d executions differ in %v, and %d in %v", len(all), whole, len(some), reduced)
	}
}

// In an outage a request fails at once, or waits for the majority.
func TestInAnOutageRequestsFailOrWait(t *testing.T) {
	seen, extent := seenBy(t, scribble{{"make", "remove"}}, world.Quorum, 0, false, 1<<20)
	for _, remove := range []string{"could not connect to a server", "node does not exist"} {
		what := "c0 calls make\nc0: ok  zk: connection closed\nc0 calls remove\nc0: ok  zk: " + remove
		if !seen[what] {
			t.Errorf("not seen:\n%s", what)
		}
	}
	if extent.Word != tally.Complete {
		t.Error(extent)
	}
}

// scribblePlans is a workload that draws what its two users do.
type scribblePlans struct{ scribble }

// ScribblePlans returns a workload of nine plans, with an execution of which each breaks a property of its own.
func ScribblePlans() world.Workload { return scribblePlans{} }

func (scribblePlans) Plan(p *world.Plan) world.Episode {
	scripts := [][]string{{"make", "list"}, {"list"}, {"await", "remove"}}
	return scribble{scripts[p.Choose(3, world.PlanLabel(0))], scripts[p.Choose(3, world.PlanLabel(1))]}
}

// asker is an episode in which one client asks something about what it has, and the judge sees whether another's operation
// had returned by then. What the one does otherwise does not say that.
type asker struct {
	scribble
	at atomic.Int64
}

func (a *asker) Plan(*world.Plan) world.Episode { return &asker{scribble: a.scribble} }
func (a *asker) Run(u *world.User) {
	if u.Client > 0 {
		a.scribble.Run(u)
		return
	}
	u.Do("use", func() string { return "" })
	u.Asks()
	a.at.Store(u.Now())
}

func (a *asker) Judge(w *world.World) world.Judgement {
	earlier := a.at.Load() < w.Ops()[0].Return
	return world.Judgement{Violations: []world.Violation{{Property: fmt.Sprint("asked before the return: ", earlier)}}}
}

// When a user asks is part of the history: what it had is sure up to then.
func TestAsksAreInTheHistory(t *testing.T) {
	w := &asker{scribble: scribble{{}, {"list"}}}
	for _, without := range []bound.Reductions{bound.AllReductions, bound.ReduceRuns, 0} {
		if seen, extent := seenBy(t, w, world.NoFaults, without, false, 1<<20); len(seen) != 2 || extent.Word != tally.Complete {
			t.Errorf("without %v: %v, %v", without, seen, extent)
		}
	}
}
