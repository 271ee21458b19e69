package sim_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// accused is a workload in whose episodes one property breaks twice.
type accused struct{ sim.Workload }

func (a accused) Plan(p *world.Plan) world.Episode { return accusedEpisode{a.Workload.Plan(p)} }

type accusedEpisode struct{ world.Episode }

func (accusedEpisode) Judge(*world.World) world.Judgement {
	v := sim.Violation{Property: "quiet", Message: "somebody spoke"}
	return world.Judgement{Violations: []sim.Violation{v, v}}
}

// stopper is a lock whose n-th stops the world, by a mutex or by computing for ever.
func stopper(n int64, stop func()) sim.Workload {
	var made atomic.Int64
	return accused{workload.Lock(func(c recipes.Conn, path string) workload.Locker {
		if made.Add(1) == n {
			stop()
		}
		return newOurLock(c, path)
	})}
}

func spins() {
	for i := 0; ; i++ {
	}
}

func locksTwice() {
	var mu sync.Mutex
	mu.Lock()
	mu.Lock()
}

// childStops runs a campaign in which a world stands still after violations were found.
func childStops(args []string) error {
	sim.SetFreezeAfter(250 * time.Millisecond)
	cfg := sim.Config{Episodes: 400, Seed: 1, Workers: 1, NoFaultsAtAll: true}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	stop := spins
	if args[0] == "interrupted" {
		sim.SetFreezeAfter(time.Hour)
		stop = func() { cancel(); locksTwice() }
	}
	r, err := sim.Run(ctx, stopper(20, stop), cfg)
	if err != nil {
		return err
	}
	f := r.Violations[0]
	fmt.Printf("%s: %d of %d episodes, %d times %s, a trace: %v\n%s\n", r.Verdict, r.Episodes, r.Asked, f.Times, f.Property,
		len(f.Trace) > 0, r.Short)
	return nil
}

// A campaign in which a world stands still, or that is interrupted in that state, ends, and says how many episodes were
// run and why not all; what broke before is shown, and counted by episodes.
func TestWorldStandsStillAfterAViolation(t *testing.T) {
	for how, reason := range map[string][]string{
		"spins":       {"no progress for", "is busy without calling", "sim_test.spins"},
		"interrupted": {"interrupted", "sync.Mutex", "sim_test.locksTwice"},
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			out, _ := child(t, "stops "+how)
			var episodes, asked, times int
			var rest string
			fmt.Sscanf(out, "violation: %d of %d episodes, %d times %s", &episodes, &asked, &times, &rest)
			if episodes == 0 || times != episodes || asked != 400 || !strings.Contains(out, "a trace: true") {
				t.Errorf("%d of %d episodes, %d times", episodes, asked, times)
			}
			for _, part := range reason {
				if !strings.Contains(out, part) {
					t.Errorf("%q is missing", part)
				}
			}
			if t.Failed() {
				t.Log(out)
			}
		})
	}
}

// found is what a campaign over a broken recipe finds first, and how small it is.
func foundIn(t *testing.T, cfg sim.Config) sim.Found {
	t.Helper()
	cfg.Episodes, cfg.Seed, cfg.Clients, cfg.Ops, cfg.Until = 100, 1, 2, 2, "order"
	w := find(t, "lock", "broken")
	r := run(t, w, cfg)
	if len(r.Violations) == 0 {
		t.Fatal("nothing broke")
	}
	return r.Violations[0]
}

// Without a limit a counterexample is minimal; with one that is over, or once the campaign is interrupted, it says that
// it may not be, and is still one that a replay shows.
func TestBudgetOfMinimising(t *testing.T) {
	whole, cut := foundIn(t, sim.Config{}), foundIn(t, sim.Config{ShrinkTime: 1})
	if whole.Unfinished != "" || !strings.Contains(cut.Unfinished, "over") || len(cut.Trace) == 0 || cut.Steps <= whole.Steps {
		t.Errorf("without a limit: %q, %d steps; with one: %q, %d steps", whole.Unfinished, whole.Steps, cut.Unfinished, cut.Steps)
	}
	if again := foundIn(t, sim.Config{ShrinkTime: time.Hour}); !slices.Equal(again.Choices, whole.Choices) {
		t.Error("a limit that was not reached has changed the counterexample")
	}
}

// Progress goes on while counterexamples are minimised, and an interrupt ends that.
func TestInterruptedWhileMinimising(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var told []string
	var now sim.Minimising // when it was interrupted
	w := find(t, "lock", "broken")
	r, err := sim.Run(ctx, w, sim.Config{
		Episodes: 300, Seed: 1,
		Found: func(episode int, v sim.Violation) { told = append(told, v.Property) },
		Progress: func(p sim.Progress) {
			if p.Minimising != nil && ctx.Err() == nil {
				now = *p.Minimising
				cancel()
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(told) != len(r.Violations) {
		t.Errorf("told %v of %d violations", told, len(r.Violations))
	}
	if now.Property == "" {
		t.Fatal("no progress was told of minimising")
	}
	f := r.Violations[slices.IndexFunc(r.Violations, func(f sim.Found) bool { return f.Property == now.Property })]
	if !strings.Contains(f.Unfinished, "interrupted") || len(f.Trace) == 0 || r.Episodes != 300 || r.Short != "" {
		t.Errorf("%s: %q, %d steps of trace, %d episodes, %q", f.Property, f.Unfinished, len(f.Trace), r.Episodes, r.Short)
	}
}

// What episodes leave behind is bounded, whatever else breaks in them, also while minimising.
func TestLeavingsAreBounded(t *testing.T) {
	const each, most = 300, 3000
	defer sim.SetLeftGoroutines(most)()
	leaves := accusedOf{workload.Of(workload.Lock, func(s workload.Servers, path string) workload.Locker {
		conn, _, err := zk.Connect(s.Addresses, 4*time.Second, s.Option, zk.WithLogInfo(false), zk.WithLogger(log.New(io.Discard, "", 0)))
		if err != nil {
			panic(err)
		}
		for range each {
			go waitForever()
		}
		return newZKLock(conn, path)
	})}
	r := run(t, leaves, sim.Config{Episodes: 300, Seed: 1, Workers: 1, NoFaultsAtAll: true})
	if r.Episodes > most/each || !strings.Contains(r.Short, "too much memory") {
		t.Errorf("%d episodes of %d: %s", r.Episodes, r.Asked, r.Short)
	}
	if again := run(t, leaves, sim.Config{Episodes: 300, Seed: 1, Workers: 1, NoFaultsAtAll: true, NoShrink: true}); again.Episodes < r.Episodes {
		t.Errorf("what one run has left ends the next after %d episodes", again.Episodes)
	}
	if !strings.Contains(r.Violations[0].Unfinished, "too much memory") {
		t.Errorf("minimising went on: %q", r.Violations[0].Unfinished)
	}
}

// accusedOf is accused, over the wire.
type accusedOf struct{ *workload.Workload }

func (a accusedOf) Plan(p *world.Plan) world.Episode {
	return accusedEpisode{a.Workload.Plan(p)}
}

func (accusedOf) Terms() world.Terms { return world.Terms{Door: world.ByDialer} }
