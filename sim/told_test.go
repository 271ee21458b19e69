package sim_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// countingLock is a [bareLock] that counts the ends of its sessions, on a goroutine of its own, and believes in a hold until
// the count, or the session, is another one than the hold's.
type countingLock struct {
	*bareLock
	ends   atomic.Int64
	mine   term
	before bool // which term is the hold's: that in which it was asked for, or in which the reply was looked at
}

// term is the time of one session.
type term struct{ ends, session int64 }

func (l *countingLock) now() term { return term{l.ends.Load(), l.conn.SessionID()} }

func (l *countingLock) Lock(ctx context.Context) error {
	before := l.now()
	err := l.bareLock.Lock(ctx)
	if l.mine = before; !l.before {
		l.mine = l.now()
	}
	return err
}

func (l *countingLock) IsOwner() bool { return l.now() == l.mine }

// hears counts by the events of the connection.
func (l *countingLock) hears(events <-chan zk.Event) {
	for e := range events {
		if e.State == zk.StateExpired {
			l.ends.Add(1)
		}
	}
}

// asks counts by looking at the session again and again.
func (l *countingLock) asks(over <-chan zk.Event) {
	for last := l.conn.SessionID(); ; {
		select {
		case _, open := <-over:
			if !open {
				return
			}
		case <-time.After(300 * time.Millisecond):
			now := l.conn.SessionID()
			if last != 0 && now != last {
				l.ends.Add(1)
			}
			last = now
		}
	}
}

func counting(learns func(*countingLock, <-chan zk.Event), before bool) sim.Workload {
	return workload.Lock(func(c recipes.Conn, path string) workload.Locker {
		l := &countingLock{bareLock: &bareLock{conn: c, path: path}, before: before}
		go learns(l, recipes.SessionEvents(c))
		return l
	}, workload.Unfair(), workload.Waive("false-lost"))
}

// A user whose reply is looked at late is told of the end of its session when another goroutine of its recipe is: by an event,
// or by asking for the session. To note the hold all the same is found, and who compares is not accused.
func TestStalledOwnersAreTold(t *testing.T) {
	testkit.ManyWorlds(t)
	cfg := sim.Config{Episodes: 4000, Seed: 9, Clients: 2, Faults: world.Stall | world.Expiry, NoShrink: true}
	for name, learns := range map[string]func(*countingLock, <-chan zk.Event){
		"event": (*countingLock).hears, "session": (*countingLock).asks,
	} {
		until := cfg
		until.Until = "belief"
		if r := run(t, counting(learns, false), until); len(r.Violations) == 0 || r.Violations[0].Property != "belief" {
			t.Errorf("%s, noted after: %s %s after %d episodes: %q", name, r.Verdict, r.Reason, r.Episodes, found(r))
		} else {
			t.Logf("%s, noted after: %d", name, r.Violations[0].Episode)
		}
		if r := run(t, counting(learns, true), cfg); r.Verdict != sim.VerdictOK {
			t.Errorf("%s, noted before: %s %s after %d episodes: %q", name, r.Verdict, r.Reason, r.Episodes, found(r))
		}
	}
}
