package sim_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// frozen are recipes that stop a simulated world, which has to say why and where.
var frozen = map[string]struct {
	new    func(c recipes.Conn, path string) workload.Locker
	reason string // part of what is said
	at     string // the function named
}{
	"mutex":  {newMutexHolder, "waits in sync.Mutex.Lock at sim/freeze_test.go:", "mutexHolder).Lock"},
	"spins":  {newSpinner, "is busy without calling", "spinner).Lock"},
	"spins2": {newBackgroundSpinner, "is busy without calling", "spinForEver"},
	"judges": {newOurLock, "a mistake of the workload's", "judgeForEver"},
}

func newOurLock(c recipes.Conn, path string) workload.Locker { return recipes.NewLock(c, path) }

// mutexHolder keeps a sync.Mutex locked across calls to ZooKeeper while a second goroutine wants it.
type mutexHolder struct {
	mu   sync.Mutex
	conn recipes.Conn
}

func newMutexHolder(c recipes.Conn, _ string) workload.Locker { return &mutexHolder{conn: c} }

func (m *mutexHolder) Lock(context.Context) error {
	go m.status()
	m.mu.Lock()
	defer m.mu.Unlock()
	_, _, err := m.conn.Children("/t")
	return err
}

func (m *mutexHolder) status() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.conn.Children("/t")
}

func (m *mutexHolder) Unlock(context.Context) error { return nil }

// spinner computes without end.
type spinner struct{ rounds int }

func newSpinner(recipes.Conn, string) workload.Locker { return &spinner{} }

func (s *spinner) Lock(context.Context) error {
	for {
		s.rounds++
	}
}

func (s *spinner) Unlock(context.Context) error { return nil }

// backgroundSpinner spins on a goroutine of its own.
type backgroundSpinner struct{ spinner }

func newBackgroundSpinner(recipes.Conn, string) workload.Locker { return &backgroundSpinner{} }

func (s *backgroundSpinner) Lock(context.Context) error {
	go spinForEver(&s.spinner)
	return nil
}

func spinForEver(s *spinner) { s.Lock(context.Background()) }

func frozenWorkload(name string) sim.Workload {
	if name == "judges" {
		return endless{workload.Lock(frozen[name].new)}
	}
	return workload.Lock(frozen[name].new)
}

// endless is a workload that judges without end.
type endless struct{ sim.Workload }

func (e endless) Plan(p *world.Plan) world.Episode { return endlessEpisode{e.Workload.Plan(p)} }

type endlessEpisode struct{ world.Episode }

func (e endlessEpisode) Judge(w *world.World) world.Judgement { return judgeForEver(w) }

//go:noinline
func judgeForEver(w *world.World) world.Judgement {
	for w.Now() >= 0 {
	}
	return world.Judgement{}
}

// childRun runs a campaign on a recipe that freezes.
func childRun(args []string) error {
	r, err := sim.Run(context.Background(), frozenWorkload(args[0]), sim.Config{Episodes: 50, Seed: 1})
	fmt.Printf("verdict %s: %s\n", r.Verdict, r.Reason)
	return err
}

// childAgain replays a counterexample of a recipe that freezes now.
func childAgain(args []string) error {
	c := &sim.Counterexample{Faults: "none", Clients: 2, Ops: 2, Choices: world.Choices{1, 0, 1, 1, 1}}
	_, err := sim.Replay(frozenWorkload(args[0]), c)
	if errors.Is(err, sim.ErrFrozen) {
		fmt.Println("verdict unknown")
	}
	return err
}

// A world that stands still is reported as such, with the place in the recipe that is the reason,
// by all three ways to run a workload. None may hang: each child has to end by itself.
func TestFrozenWorldIsReported(t *testing.T) {
	want := map[string]string{"run": "verdict unknown", "again": "verdict unknown", "test": "FAIL"}
	for name, recipe := range frozen {
		for way, verdict := range want {
			t.Run(way+"-"+name, func(t *testing.T) {
				t.Parallel()
				out, status := child(t, way+" "+name)
				if way != "run" && status == 0 {
					t.Errorf("exit status 0")
				}
				for _, part := range []string{verdict, recipe.reason, recipe.at, "no progress for"} {
					if !strings.Contains(out, part) {
						t.Errorf("%q is missing in:\n%s", part, out)
					}
				}
			})
		}
	}
}

// looper calls ZooKeeper again and again.
type looper struct{ conn recipes.Conn }

func (l looper) Lock(context.Context) error {
	for {
		l.conn.Exists("/t")
	}
}

func (l looper) Unlock(context.Context) error { return nil }

// A recipe that calls ZooKeeper in an endless loop does not stop the world; it does not get on
// either, which the liveness phase finds.
func TestEndlessCallsBreakProgress(t *testing.T) {
	w := workload.Lock(func(c recipes.Conn, _ string) workload.Locker { return looper{c} })
	r := run(t, w, sim.Config{Episodes: testkit.Share(3), Seed: 1, NoFaultsAtAll: true, NoShrink: true})
	wantOnly(t, r, "progress", "livelock: c1 sent ")
}

// panicker panics on the goroutine of its user.
type panicker struct{}

func (panicker) Lock(context.Context) error   { panic("out of cheese") }
func (panicker) Unlock(context.Context) error { return nil }

// goner ends its goroutine, as t.FailNow does.
type goner struct{ panicker }

func (goner) Lock(context.Context) error { runtime.Goexit(); return nil }

func TestPanicIsAViolation(t *testing.T) {
	w := workload.Lock(func(recipes.Conn, string) workload.Locker { return panicker{} })
	r := run(t, w, sim.Config{Episodes: 5, Seed: 1})
	wantOnly(t, r, "panic", "out of cheese", "panicker.Lock")

	w = workload.Lock(func(recipes.Conn, string) workload.Locker { return goner{} })
	r = run(t, w, sim.Config{Episodes: testkit.Share(3), Seed: 1, NoFaultsAtAll: true, NoShrink: true})
	wantOnly(t, r, "panic", "was ended in acquire: runtime.Goexit", "goner.Lock")
}

// leaver leaves a goroutine behind that nothing ends.
type leaver struct {
	workload.Locker
	wait func()
}

func (l leaver) Lock(ctx context.Context) error {
	go l.wait()
	return l.Locker.Lock(ctx)
}

func waitForNobody() { <-make(chan struct{}) }
func waitForEver()   { <-make(chan struct{}) }

// A goroutine that is left behind breaks a property. What other episodes have left is none of this one's.
func TestGoroutineLeftBehind(t *testing.T) {
	for of, other := range map[string]string{"waitForNobody": "waitForEver", "waitForEver": "waitForNobody"} {
		wait := map[string]func(){"waitForNobody": waitForNobody, "waitForEver": waitForEver}[of]
		w := workload.Lock(func(c recipes.Conn, path string) workload.Locker { return leaver{recipes.NewLock(c, path), wait} })
		r := run(t, w, sim.Config{Episodes: 5, Seed: 1, NoFaultsAtAll: true})
		wantOnly(t, r, "goroutine-leak", of)
		text := r.Violations[0].Message
		if strings.Contains(text, "sim/world.(*World)") || strings.Contains(text, "testing.tRunner") || strings.Contains(text, other) {
			t.Errorf("the simulator's own goroutines are blamed, or another episode's:\n%s", text)
		}
	}
}

// wantOnly wants one broken property, whose message has these parts.
func wantOnly(t *testing.T, r sim.Result, property string, parts ...string) {
	t.Helper()
	if r.Verdict != sim.VerdictViolation || len(r.Violations) != 1 || r.Violations[0].Property != property {
		t.Fatalf("verdict %s (%s), violations %v, want only %s", r.Verdict, r.Reason, r.Violations, property)
	}
	for _, part := range parts {
		if !strings.Contains(r.Violations[0].Message, part) {
			t.Errorf("%q is missing in: %s", part, r.Violations[0].Message)
		}
	}
}
