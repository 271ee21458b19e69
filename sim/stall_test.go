package sim_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// bareLock is held by whoever has made the znode, and beside it one named after the hold, which it looks after from then
// on. Of the session it asks only whether it is still the one that the client had when the grant was handled.
type bareLock struct {
	conn recipes.Conn
	path string
	hold *bareHold
}

type bareHold struct {
	path    string // of the znode beside
	session int64
	over    atomic.Bool
}

func (l *bareLock) Lock(ctx context.Context) error {
	for {
		h := &bareHold{path: l.path + "-" + recipes.NewGUID(l.conn)}
		_, err := l.conn.Multi(ownedZnode(l.path), ownedZnode(h.path))
		if err == nil {
			h.session = l.conn.SessionID()
			l.hold = h
			go l.watch(h)
			return nil
		}
		if err != zk.ErrNodeExists {
			return err
		}
		_, _, gone, err := l.conn.GetW(l.path)
		if err == zk.ErrNoNode {
			continue
		}
		if err != nil {
			return err
		}
		select {
		case <-gone:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func ownedZnode(path string) *zk.CreateRequest {
	return &zk.CreateRequest{Path: path, Flags: zk.FlagEphemeral, Acl: zk.WorldACL(zk.PermAll)}
}

// watch notes the end of a hold.
func (l *bareLock) watch(h *bareHold) {
	if _, _, gone, err := l.conn.GetW(h.path); err == nil {
		<-gone
	}
	h.over.Store(true)
}

func (l *bareLock) IsOwner() bool { return !l.hold.over.Load() && l.hold.session == l.conn.SessionID() }

// Unlock deletes both znodes or, if the hold is over and the lock may be another's, none.
func (l *bareLock) Unlock(context.Context) error {
	_, err := l.conn.Multi(&zk.DeleteRequest{Path: l.hold.path, Version: -1}, &zk.DeleteRequest{Path: l.path, Version: -1})
	if err == zk.ErrNoNode {
		return recipes.ErrLost
	}
	return err
}

// A goroutine that handles a grant when the session has been replaced could not know: it is not accused of what its client
// knew by then, nor of what it has not looked at yet. Stalls strike, and equal choices give equal runs.
func TestStalledOwnersAreNotAccused(t *testing.T) {
	testkit.ManyWorlds(t)
	new := func(c recipes.Conn, path string) workload.Locker { return &bareLock{conn: c, path: path} }
	bare := workload.Lock(new, workload.Unfair())
	cfg := sim.Config{Episodes: testkit.Sized(1000, 4000), Seed: 9, Clients: 2, Faults: world.Stall | world.Expiry}
	r := run(t, bare, cfg)
	if r.Verdict != sim.VerdictOK || r.Struck["stall"] < 250 {
		t.Errorf("%s, %d stalls", r.Verdict, r.Struck["stall"])
	}
	for _, v := range r.Violations {
		t.Error(v.Story(bare))
	}
	compareSeeds(t, subject{"bare", bare, 2}, cfg, uint64(testkit.Share(60)))
}
