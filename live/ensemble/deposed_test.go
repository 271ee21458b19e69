package ensemble_test

import (
	"cmp"
	"errors"
	"io"
	"log"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/live/ensemble"
	"github.com/zktorture/zktorture/live/ensemble/ensembletest"
)

// A leader that was stopped while others elected another one does as fakezk's deposed leader when it runs again, and
// has not noticed: it answers sync and reads as of before; a write is never answered, and never happens.
//
// It notices at its next half tick (Leader.lead). A busy machine may be slower than that, and is given another leader.
func TestDeposedLeader(t *testing.T) {
	e := start(t, ensemble.Options{Nodes: 3, Tick: 2 * time.Second, SyncLimit: 2})
	testkit.Until(t, "a deposed leader is asked before it notices", func() bool {
		unaware := askDeposed(t, e)
		must(t, e.WaitServing(testkit.Context(t)))
		return unaware
	})
}

// askDeposed deposes the leader and asks it. It is false if the leader had noticed by then, or stopped too late.
func askDeposed(t *testing.T, e *ensemble.Ensemble) bool {
	leader, err := e.WaitLeader(t.Context())
	must(t, err)
	var others []string
	for i, server := range e.Servers() {
		if i != leader {
			others = append(others, server)
		}
	}
	there, elsewhere := raw(t, e.Servers()[leader:leader+1]), raw(t, others)
	x, err := elsewhere.Create("/x-", []byte("old"), zk.FlagSequence, zk.WorldACL(zk.PermAll))
	must(t, err)
	_, err = there.Sync(x)
	must(t, err)
	must(t, e.Member(leader).Pause())
	var wrote *zk.Stat
	testkit.Until(t, "a leader carries a write out", func() bool {
		wrote, err = elsewhere.Set(x, []byte("new"), -1)
		return err == nil
	})
	must(t, e.Member(leader).Resume())
	if wrote.Mzxid>>32 == wrote.Czxid>>32 {
		return false // the old one, which had not stopped yet
	}
	_, syncErr := there.Sync(x)
	data, _, getErr := there.Get(x)
	if err := cmp.Or(syncErr, getErr); errors.Is(err, zk.ErrConnectionClosed) || errors.Is(err, zk.ErrNoServer) {
		return false // ErrNoServer: the connection had been closed before
	}
	if syncErr != nil || getErr != nil || string(data) != "old" {
		t.Errorf("at the deposed leader: sync %v, get %q, %v; want an old answer", syncErr, data, getErr)
	}
	switch _, err := there.Set(x, []byte("never"), -1); {
	case errors.Is(err, zk.ErrNoServer):
		return false
	case !errors.Is(err, zk.ErrConnectionClosed):
		t.Errorf("at the deposed leader: set %v; want no answer", err)
	}
	if data, stat, err := elsewhere.Get(x); err != nil || string(data) != "new" || stat.Version != 1 ||
		stat.Mzxid>>32 != stat.Czxid>>32+1 || stat.Mzxid&0xffffffff != 1 {
		t.Errorf("%q %+v %v: want what was written first in the new epoch", data, stat, err)
	}
	return true
}

// raw is a session of go-zookeeper's own client, which fails what is under way when its connection breaks.
func raw(t *testing.T, servers []string) *zk.Conn {
	conn, _, err := zk.Connect(servers, ensembletest.Lasting, zk.WithLogger(log.New(io.Discard, "", 0)))
	must(t, err)
	t.Cleanup(conn.Close)
	return conn
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
