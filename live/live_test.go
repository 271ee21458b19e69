package live_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk/fakezktest"
	"github.com/zktorture/zktorture/fakezk/server"
	"github.com/zktorture/zktorture/fakezk/wire/strike"
	"github.com/zktorture/zktorture/internal/testkit"
	_ "github.com/zktorture/zktorture/internal/testkit/broken"
	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/linearizability/histories"
	"github.com/zktorture/zktorture/live"
	"github.com/zktorture/zktorture/live/ensemble/ensembletest"
	"github.com/zktorture/zktorture/live/zkclient"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/workload"
)

// opener opens sessions with real servers.
func opener(servers string) func(context.Context) (*live.Session, error) {
	return openerBy(servers, nil)
}

// openerBy opens sessions over connections that dial makes.
func openerBy(servers string, dial zk.Dialer) func(context.Context) (*live.Session, error) {
	return func(ctx context.Context) (*live.Session, error) {
		var told, broken atomic.Int64
		c, err := zkclient.Config{Servers: servers, SessionTimeout: 20 * time.Second, Dial: dial,
			OnEvent: func(e zk.Event) {
				switch {
				case e.Type == zk.EventSession && e.State == zk.StateExpired:
					told.Add(1)
				case e.Type == zk.EventSession && e.State == zk.StateDisconnected:
					broken.Add(1)
				}
			}}.Connect()
		if err != nil {
			return nil, err
		}
		if err := c.WaitSession(ctx); err != nil {
			c.Close()
			return nil, err
		}
		return &live.Session{Conn: c, Close: c.Close,
			ExpiriesSeen: func() int { return int(told.Load()) }, Broken: func() int { return int(broken.Load()) }}, nil
	}
}

// TestRealServers runs the scripts of the simulator on a real ensemble: the correct recipes pass,
// a broken one is caught, and nothing is left.
func TestRealServers(t *testing.T) {
	e := ensembletest.Start(t, 3)
	open := opener(e.ConnectString())
	admin, err := open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()

	run := func(t *testing.T, kind, recipe string, rounds int, patience time.Duration) (sim.Result, linearizability.History) {
		t.Helper()
		w, err := workload.Find(kind, recipe)
		if err != nil {
			t.Fatal(err)
		}
		var history, strikes bytes.Buffer
		cfg := live.Config{
			Open: open, Root: "/live-" + kind, Seed: 1, Rounds: rounds, Clients: 3, Ops: 4, History: &history,
			Patience: patience,
			Faults:   strike.SetOf(strike.Loss, strike.Watch), Strikes: &strikes, // but there are no links
		}
		r, err := live.Run(t.Context(), w, cfg)
		if err != nil {
			t.Fatal(err)
		}
		if strikes.Len() == 0 || strings.Contains(strikes.String(), `"struck":true`) {
			t.Errorf("faults are drawn, and none can strike: %s", &strikes)
		}
		if _, err := admin.Conn.Sync("/"); err != nil && !errors.Is(err, zk.ErrNoNode) { // its server may be behind
			t.Error(err)
		}
		if ok, _, err := admin.Conn.Exists("/live-" + kind); ok || err != nil {
			t.Errorf("the root path is still there: %v", err)
		}
		h, err := histories.Read(&history)
		if err != nil {
			t.Fatal(err)
		}
		return r, h
	}
	for _, kind := range []string{"lock", "queue"} {
		t.Run(kind, func(t *testing.T) {
			r, h := run(t, kind, workload.Ours, 100, testkit.Hang)
			if notJudged := map[string][]string{
				"lock": {"belief", "false-lost", "herd", "idle", "order", "try-waits", "unusable"}, "queue": {"unusable"}}[kind]; !slices.Equal(r.NotJudged,
				notJudged) {
				t.Errorf("not judged are said to be %q, want %q", r.NotJudged, notJudged)
			}
			if r.Verdict != sim.VerdictOK || r.Episodes != 100 || len(h) < 500 {
				t.Errorf("%s: %s %v, %d rounds, %d operations", r.Verdict, r.Reason, r.Violations, r.Episodes, len(h))
			}
		})
	}
	t.Run("what must not", func(t *testing.T) {
		w := workload.Lock(func(c recipes.Conn, path string) workload.Locker {
			return littering{recipes.NewLock(c, path), c, path, zk.FlagEphemeral | zk.FlagSequence}
		})
		r, err := live.Run(t.Context(), w,
			live.Config{Open: open, Root: "/live-leaves", Seed: 1, Rounds: 200, Clients: 3, Ops: 2, Until: "orphan"})
		if err != nil || !slices.Contains(properties(r), "orphan") {
			t.Errorf("after %d rounds %v is found, %v; want orphan", r.Episodes, properties(r), err)
		}
	})
	t.Run("what must not go on", func(t *testing.T) {
		w := workload.Lock(func(c recipes.Conn, path string) workload.Locker {
			return littering{recipes.NewLock(c, path+"/queue"), c, path, zk.FlagSequence}
		})
		r, err := live.Run(t.Context(), w,
			live.Config{Open: open, Root: "/live-goeson", Seed: 1, Rounds: 500, Clients: 2, Ops: 8, Until: "leak"})
		if err != nil || !slices.Equal(properties(r), []string{"leak"}) {
			t.Errorf("after %d rounds %v is found, %v; want leak", r.Episodes, properties(r), err)
		}
	})
	t.Run("broken", func(t *testing.T) {
		either := func(f sim.Found) bool { return f.Property == "exclusion" || f.Property == "lost-wakeup" }
		testkit.Until(t, "exclusion or lost-wakeup is found", func() bool {
			r, h := run(t, "lock", "broken", 25, 5*time.Second)
			if len(h) == 0 {
				t.Error("there is no history to judge again")
			}
			t.Logf("%s after %d rounds, found %v", r.Verdict, r.Episodes, properties(r))
			return r.Verdict == sim.VerdictViolation && slices.ContainsFunc(r.Violations, either)
		})
	})
}

// littering is a lock whose owners leave a znode each.
type littering struct {
	workload.Locker
	conn recipes.Conn
	path string
	kind int32
}

func (l littering) Lock(ctx context.Context) error {
	err := l.Locker.Lock(ctx)
	if err == nil {
		l.conn.Create(l.path+"/owner-", nil, l.kind, zk.WorldACL(zk.PermAll))
	}
	return err
}

func properties(r sim.Result) (all []string) {
	for _, f := range r.Violations {
		all = append(all, f.Property)
	}
	return all
}

// TestRootRefused: a root path that is there is neither used nor removed, and nothing is made above one.
func TestRootRefused(t *testing.T) {
	open := opener(fakezktest.Start(t, server.Config{}).ConnectString())
	admin, err := open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	for _, path := range []string{"/precious", "/precious/child"} {
		if _, err := admin.Conn.Create(path, nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
			t.Fatal(err)
		}
	}
	w, err := workload.Find("lock", "")
	if err != nil {
		t.Fatal(err)
	}
	for root, refused := range map[string]bool{"/precious": true, "/": true, "relative": true, "/a/../b": true,
		"/fresh": false, "/fresh/below": true} {
		_, err := live.Run(t.Context(), w, live.Config{Open: open, Root: root, Rounds: 2, Clients: 2, Ops: 1, Seed: 1})
		if errors.Is(err, live.ErrRoot) != refused || !refused && err != nil {
			t.Errorf("root %s: %v", root, err)
		}
	}
	admin.Conn.Sync("/precious") // its server may be behind
	if ok, _, _ := admin.Conn.Exists("/precious/child"); !ok {
		t.Error("what was there is gone")
	}
	if ok, _, _ := admin.Conn.Exists("/fresh"); ok {
		t.Error("the root is left")
	}
}
