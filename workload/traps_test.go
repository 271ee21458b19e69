package workload_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// What a workload must say, and must not, of recipes that fall into a trap, or beside it. The
// section Traps of docs/explanation/fidelity.md lists the tests.
// neighbour is a lock whose waiters wait for the znode with the number just before their own, and
// take its absence for their turn. Numbers may be left out, so that is wrong.
type neighbour struct {
	conn recipes.Conn
	own  string
}

func (l *neighbour) Lock(ctx context.Context) (err error) {
	if l.own, err = l.conn.Create("/t/lock/n-", nil, zk.FlagEphemeralSequential, openACL); err != nil {
		return err
	}
	there, _, gone, err := l.conn.ExistsW(l.before())
	if err != nil || !there {
		return err
	}
	select {
	case <-gone:
		return nil
	case <-ctx.Done():
		l.conn.Delete(l.own, -1)
		return ctx.Err()
	}
}

func (l *neighbour) before() string {
	number, _ := strconv.Atoi(l.own[len("/t/lock/n-"):])
	return fmt.Sprintf("/t/lock/n-%010d", number-1)
}

func (l *neighbour) Unlock(context.Context) error { return l.conn.Delete(l.own, -1) }

func TestTheNumberBeforeIsNotThePredecessor(t *testing.T) {
	w := workload.Lock(func(c recipes.Conn, _ string) workload.Locker {
		c.Create("/t/lock", nil, 0, openACL)
		return &neighbour{conn: c}
	})
	wantBroken(t, w, world.Cancel, "exclusion", "session 0x")
}

// keeper is a correct lock, but for a holder that does not release it while another waits: the znode
// stays as long as the session does.
type keeper struct {
	silent
	conn recipes.Conn
}

func (k keeper) Unlock(ctx context.Context) error {
	if names, _, _ := k.conn.Children("/t/lock"); len(names) > 1 {
		return nil
	}
	return k.silent.Unlock(ctx)
}

// A client that waits behind the znode of a live session whose operation is over waits for ever; behind that of a dead
// process, until its session expires.
func TestOnlyTheDeadReleaseByThemselves(t *testing.T) {
	w := workload.Lock(func(c recipes.Conn, path string) workload.Locker {
		return keeper{newSilent(c, path).(silent), c}
	})
	wantBroken(t, w, world.NoFaults, "orphan", "is over, and it is still there")
	r := campaign(t, workload.Lock(newSilent),
		sim.Config{Episodes: 400, Seed: 1, Faults: world.Crash, NoFaultsAtAll: true})
	if r.Verdict != sim.VerdictOK || r.Struck["crash"] < 20 {
		t.Errorf("%d processes died: %s %s", r.Struck["crash"], r.Verdict, r.Reason)
	}
}

// worn is a lock object that is right as long as it is new.
type worn struct {
	silent
	turns, given int
	bad          func(turns, given int) bool
}

func (s *worn) Lock(ctx context.Context) error {
	if s.turns++; s.bad(s.turns, s.given) {
		return nil // granted, to whomever
	}
	err := s.silent.Lock(ctx)
	if ctx.Err() != nil {
		s.given++
	}
	return err
}

// Objects are used again, also after a caller has given up: one use each would show neither of these.
func TestObjectsAreUsedAgain(t *testing.T) {
	second := func(turns, _ int) bool { return turns == 2 }
	givenUp := func(_, given int) bool { return given > 0 }
	for _, test := range []struct {
		name   string
		bad    func(turns, given int) bool
		ops    int
		faults world.Faults
		broken bool
	}{
		{"the second use, of one", second, 1, world.NoFaults, false},
		{"the second use", second, 4, world.NoFaults, true},
		{"after giving up, without", givenUp, 4, world.NoFaults, false},
		{"after giving up", givenUp, 4, world.Cancel, true},
	} {
		w := workload.Lock(func(c recipes.Conn, path string) workload.Locker {
			return &worn{silent: newSilent(c, path).(silent), bad: test.bad}
		})
		r := campaign(t, w, sim.Config{Episodes: 500, Seed: 1, Ops: test.ops, Faults: test.faults, NoFaultsAtAll: true,
			NoShrink: true})
		if text := messageOf(r, "exclusion"); (text != "") != test.broken ||
			!test.broken && r.Verdict != sim.VerdictOK {
			t.Errorf("%s: %s, exclusion %q", test.name, r.Verdict, text)
		}
	}
}

// rooms is a semaphore whose leases are in a directory of their own, behind an inner lock. A try that comes too late
// forgets its lease.
type rooms struct {
	conn    recipes.Conn
	path    string
	permits int
	lock    *recipes.Lock
	lease   string
}

func (r *rooms) Acquire(ctx context.Context) error {
	if err := r.lock.Lock(ctx); err != nil {
		return err
	}
	defer r.lock.Unlock(context.WithoutCancel(ctx))
	for {
		leases, _, changed, err := r.conn.ChildrenW(r.path + "-leases")
		if err != nil {
			return err
		}
		if len(leases) < r.permits {
			return r.take()
		}
		<-changed
	}
}

func (r *rooms) take() (err error) {
	r.lease, err = r.conn.Create(r.path+"-leases/lease-", nil, zk.FlagEphemeralSequential, openACL)
	return err
}

func (r *rooms) TryAcquire(context.Context) (bool, error) {
	if err := r.take(); err != nil {
		return false, err
	}
	leases, _, err := r.conn.Children(r.path + "-leases")
	return len(leases) <= r.permits, err
}

func (r *rooms) Release(context.Context) error { return r.conn.Delete(r.lease, -1) }

// Who is first in one queue may wait for what is held in another: then nothing is said to be free.
func TestFirstInOneQueueOnly(t *testing.T) {
	w := workload.Semaphore(1, func(c recipes.Conn, path string) workload.Permitter {
		return &rooms{conn: c, path: path, permits: 1, lock: recipes.NewLock(c, path)}
	}, workload.Unfair(), workload.Beside("-leases"))
	r := campaign(t, w, sim.Config{Episodes: 300, Seed: 1, NoFaultsAtAll: true, NoShrink: true})
	if slices.ContainsFunc(r.Violations, func(f sim.Found) bool { return f.Property == "lost-wakeup" }) ||
		messageOf(r, "orphan") == "" {
		t.Errorf("broken are %v", r.Violations)
	}
}
