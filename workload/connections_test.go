package workload_test

import (
	"context"
	"errors"
	"io"
	"log"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// Processes with several connections.

func connect(s workload.Servers) *zk.Conn {
	conn, _, err := zk.Connect(s.Addresses, 4*time.Second, s.Option, zk.WithLogger(log.New(io.Discard, "", 0)))
	if err != nil {
		panic(err)
	}
	return conn
}

// beside is a lock over one of two connections. The other one began later; it goes on, or is closed before the lock is
// used for the first time.
type beside struct {
	workload.Locker
	other  *zk.Conn
	closes bool
	closed bool
}

func (b *beside) Lock(ctx context.Context) error {
	if b.other.Exists("/t"); b.closes && !b.closed {
		b.other.Close()
		b.closed = true
	}
	return b.Locker.Lock(ctx)
}

func besides(closes bool, new func(c *zk.Conn, path string) workload.Locker) *workload.Workload {
	return workload.Of(workload.Lock, func(s workload.Servers, path string) workload.Locker {
		first := connect(s)
		return &beside{new(first, path), connect(s), closes, false}
	})
}

// reckless is a lock that does not look whether it is the first.
type reckless struct {
	conn *zk.Conn
	path string
	own  string
}

func (l *reckless) Lock(context.Context) (err error) {
	l.own, err = l.conn.Create(l.path+"-", nil, zk.FlagEphemeralSequential, openACL)
	return err
}

func (l *reckless) Unlock(context.Context) error { return l.conn.Delete(l.own, -1) }

// abandoning throws its connection away when a request fails, and goes on over a new one, while the old session lives.
// It knows its own znode by what it has written into it.
type abandoning struct {
	servers workload.Servers
	path    string
	id      string
	conn    *zk.Conn
	adopts  bool // a znode of its own that is there is as good as a new one
}

func (l *abandoning) Lock(ctx context.Context) error {
	for ctx.Err() == nil {
		_, err := l.conn.Create(l.path+"/holder", []byte(l.id), zk.FlagEphemeral, openACL)
		switch {
		case err == nil:
			return nil
		case err == zk.ErrNoNode:
			l.conn.Create(l.path, nil, 0, openACL)
		case err != zk.ErrNodeExists:
			l.redial()
		default:
			if data, _, err := l.conn.Get(l.path + "/holder"); l.adopts && err == nil && string(data) == l.id {
				return nil
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	return ctx.Err()
}

func (l *abandoning) redial() {
	time.Sleep(10 * time.Millisecond)
	l.conn.Close()
	l.conn = connect(l.servers)
}

// Unlock deletes the znode, if it is still this session's.
func (l *abandoning) Unlock(ctx context.Context) error {
	for ctx.Err() == nil {
		_, stat, err := l.conn.Get(l.path + "/holder")
		if err == nil && stat.EphemeralOwner == l.conn.SessionID() {
			err = l.conn.Delete(l.path+"/holder", stat.Version)
		}
		if err == nil || errors.Is(err, zk.ErrNoNode) {
			return nil
		}
		l.redial() // and with it the session that has the znode
	}
	return ctx.Err()
}

func abandons(adopts bool) *workload.Workload {
	return workload.Of(workload.Lock, func(s workload.Servers, path string) workload.Locker {
		conn := connect(s)
		return &abandoning{s, path, recipes.NewGUID(conn), conn, adopts}
	}, workload.Unfair())
}

// An operation has the session of the connection that it has used, whatever others its process has or had.
func TestSessionsOfSeveralConnections(t *testing.T) {
	ours := func(c *zk.Conn, path string) workload.Locker { return newSilent(c, path) }
	open := func(c *zk.Conn, path string) workload.Locker { return &reckless{conn: c, path: path} }
	for _, closes := range []bool{false, true} {
		ends(t, besides(closes, ours), world.Expiry|world.Loss|world.Pause)
		wantBroken(t, besides(closes, open), world.NoFaults, "exclusion", "under session")
	}
}

// Of a client that gives its connection up it is seen which session it goes by.
func TestConnectionsThatAreThrownAway(t *testing.T) {
	ends(t, abandons(false), world.Expiry|world.Loss)
	wantBroken(t, abandons(true), world.Loss, "exclusion", "under session")
}

func ends(t *testing.T, w sim.Workload, faults world.Faults) {
	t.Helper()
	r := campaign(t, w, sim.Config{Episodes: testkit.Sized(60, 5000), Seed: 1, Faults: faults, NoShrink: true})
	if r.Verdict != sim.VerdictOK {
		t.Errorf("%s: %s", r.Verdict, r.Reason)
	}
	for _, f := range r.Violations {
		t.Error(f.Story(w))
	}
}
