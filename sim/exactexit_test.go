//go:build zktexact

package sim_test

import (
	"context"
	"errors"
	"io"
	"log"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// exiting is a lock whose process exits when a call fails.
type exiting struct {
	workload.Locker
	exit func(error)
}

func (e exiting) Lock(ctx context.Context) error   { return e.check(ctx, e.Locker.Lock(ctx)) }
func (e exiting) Unlock(ctx context.Context) error { return e.check(ctx, e.Locker.Unlock(ctx)) }

func (e exiting) check(ctx context.Context, err error) error {
	if err != nil && ctx.Err() == nil {
		e.exit(err)
	}
	return err
}

func exitStatus(error) { os.Exit(3) }

// quietLog is where log.Fatal says why.
var quietLog = log.New(io.Discard, "", 0)

func exitLogged(err error) { quietLog.Fatal(err) }

// exitingLock is a correct lock, in process.
func exitingLock(exit func(error)) sim.Workload {
	return workload.Lock(func(c recipes.Conn, path string) workload.Locker { return exiting{recipes.NewLock(c, path), exit} })
}

// exitingOwnLock connects by itself, and exits when its session is lost, on a goroutine of its own.
func exitingOwnLock() sim.Workload {
	return workload.Of(workload.Lock, func(s workload.Servers, path string) workload.Locker {
		conn, events, err := zk.Connect(s.Addresses, 4*time.Second, s.Option, zk.WithLogger(log.New(io.Discard, "", 0)))
		if err != nil {
			panic(err)
		}
		go func() {
			for e := range events {
				if e.State == zk.StateExpired {
					os.Exit(3)
				}
			}
		}()
		return exiting{recipes.NewLock(conn, path), exitLogged}
	})
}

func exitingLocks() map[string]sim.Workload {
	return map[string]sim.Workload{
		"status": exitingLock(exitStatus), "logged": exitingLock(exitLogged), "own": exitingOwnLock(),
	}
}

// exits are the lines of a trace that tell of exits.
func exits(trace []world.Step) (all []world.Step) {
	for _, s := range trace {
		if strings.Contains(s.Result, "exits with status") {
			all = append(all, s)
		}
	}
	return all
}

// Code that exits ends its process of the world: it crashes, and starts again. A correct lock that does so when it cannot
// go on is not accused of anything.
func TestExactExitIsACrash(t *testing.T) {
	for name, w := range exitingLocks() {
		cfg := sim.Config{Episodes: 300, Seed: 1, Faults: world.AllFaults &^ world.Crash &^ world.Wrap}
		r := run(t, w, cfg)
		if r.Verdict != sim.VerdictOK || r.Episodes != 300 || r.Rerun.Differed > 0 || r.Left > 0 {
			t.Errorf("%s: %s %s after %d episodes, %d left at %s, rerun %+v: %+v", name, r.Verdict, r.Reason, r.Episodes, r.Left,
				r.LeftAt, r.Rerun, r.Violations)
		}
		told, again := 0, 0
		for seed := range uint64(200) {
			o := sim.RunOne(w, cfg, sim.NewRandomSource(1, seed))
			for _, s := range exits(o.Trace) {
				if slices.ContainsFunc(o.Trace, func(later world.Step) bool {
					return later.N > s.N && later.Client == s.Client && later.Kind == world.KindReturn
				}) {
					again++
				}
				if told++; s.Kind != world.KindFault || s.Fault != world.Crash || !strings.Contains(s.Result, "exactexit_test.go:") {
					t.Fatalf("%s: it is told as %v %+v", name, s, s.Detail)
				}
			}
			if replayed := sim.RunOne(w, cfg, o.Choices.Replay()); replayed.Hash != o.Hash {
				t.Fatalf("%s, seed %d: equal choices gave another run", name, seed)
			}
		}
		if told < 15 || again < 10 {
			t.Errorf("%s: %d exits in 200 episodes, and after %d of them the process goes on", name, told, again)
		}
	}
}

// What is wrong with code that exits is found, and shrinks to what it takes; the exit itself is no choice and no fault.
func TestExactExitIsJudged(t *testing.T) {
	w := workload.Lock(func(c recipes.Conn, path string) workload.Locker {
		return exiting{fileLock{c, path, 0}, exitStatus}
	})
	cfg := sim.Config{Episodes: 200, Seed: 1, Faults: world.Loss}
	r := run(t, w, cfg)
	i := slices.IndexFunc(r.Violations, func(f sim.Found) bool { return f.Property == "progress" })
	if i < 0 {
		t.Fatalf("nobody noticed that it stays locked when its process exits: %s %s %+v", r.Verdict, r.Reason, r.Violations)
	}
	f := r.Violations[i]
	o := sim.RunOne(w, cfg, f.Choices.Replay())
	if len(o.Violations) != 1 || o.Violations[0].Property != "progress" || len(exits(o.Trace)) != 1 || o.Faults != 1 || f.Divergence != nil {
		t.Errorf("%d exits and %d faults, %v: %+v", len(exits(o.Trace)), o.Faults, f.Divergence, o.Violations)
	}
}

// fileLock is a lock that is a znode: a process that finds it locked looks again later.
type fileLock struct {
	conn  recipes.Conn
	path  string
	flags int32
}

func (l fileLock) Lock(ctx context.Context) error {
	for {
		_, err := l.conn.Create(l.path, nil, l.flags, zk.WorldACL(zk.PermAll))
		if !errors.Is(err, zk.ErrNodeExists) {
			return err
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (l fileLock) Unlock(context.Context) error { return l.conn.Delete(l.path, -1) }

// impatient exits when it finds the lock locked: whoever starts it again is how it waits.
type impatient struct{ fileLock }

func (l impatient) Lock(context.Context) error {
	_, err := l.conn.Create(l.path, nil, l.flags, zk.WorldACL(zk.PermAll))
	if errors.Is(err, zk.ErrNodeExists) {
		exitLogged(err)
	}
	return err
}

// Code that waits by exiting, until a session has run out, gets there. Code that always exits is told.
func TestExactExitsAgainAndAgain(t *testing.T) {
	r := run(t, workload.Of(workload.Lock, func(s workload.Servers, path string) workload.Locker {
		conn, _, err := zk.Connect(s.Addresses, 4*time.Second, s.Option, zk.WithLogger(log.New(io.Discard, "", 0)))
		if err != nil {
			panic(err)
		}
		return impatient{fileLock{conn, path, zk.FlagEphemeral}}
	}), sim.Config{Episodes: 200, Seed: 1, Faults: world.Crash})
	if r.Verdict != sim.VerdictOK || r.Episodes != 200 {
		t.Errorf("%s %s after %d episodes: %+v", r.Verdict, r.Reason, r.Episodes, r.Violations)
	}
	r = run(t, workload.Lock(func(recipes.Conn, string) workload.Locker { os.Exit(3); return nil }),
		sim.Config{Episodes: 100, Seed: 1, NoFaultsAtAll: true})
	if r.Verdict != sim.VerdictUnknown || !strings.Contains(r.Reason, "exits again and again in a world without faults: "+
		"the process exits with status 3, at ") {
		t.Errorf("%s after %d episodes: %s", r.Verdict, r.Episodes, r.Reason)
	}
}
