package recipes_test

import (
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/recipes"
)

// expiring lets the session expire before a request, which the next session then carries out.
// (The pause is one of the bubble.)
func expiring(servers *goclient.Local, c *faulty, do ...func()) fault {
	return after(func() {
		servers.Expire(c.Conn)
		time.Sleep(time.Millisecond)
		for _, f := range do {
			f()
		}
	})
}

// A server that lags may serve a new session: what it says counts only after a sync in that session.
func TestReadsInANewSessionAreSyncedAnew(t *testing.T) {
	for name, c := range map[string]struct {
		op    string
		syncs int
		use   func(t *testing.T, c recipes.Conn)
	}{
		"list": {"children", 3, func(t *testing.T, c recipes.Conn) {
			_, err := recipes.NewQueue(c, "/q").Peek(t.Context())
			must(t, err)
		}},
		"item": {"get", 2, func(t *testing.T, c recipes.Conn) {
			_, err := recipes.NewQueue(c, "/q").Peek(t.Context())
			must(t, err)
		}},
		"number": {"get", 2, func(t *testing.T, c recipes.Conn) {
			n, err := recipes.NewCounter(c, "/n").Get(t.Context())
			must(t, err)
			if n != 1 {
				t.Errorf("the counter is %d", n)
			}
		}},
	} {
		world(t, func(t *testing.T, servers *goclient.Local) {
			other, conn := connect(t, servers), connect(t, servers)
			offer(t, recipes.NewQueue(other, "/q"), "1")
			_, err := recipes.NewCounter(other, "/n").Add(t.Context(), 1)
			must(t, err)
			conn.plan(c.op, expiring(servers, conn))
			c.use(t, conn)
			if got := attempts(conn, "multi"); got != c.syncs {
				t.Errorf("%s: %d syncs", name, got)
			}
		})
	}
}

// A barrier that was open in the past is not open for who comes now.
func TestBarrierOpenInThePast(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		other, c := connect(t, servers), connect(t, servers)
		gate := recipes.NewBarrier(other, "/gate")
		must(t, gate.Shut(t.Context()))
		past := func() { must(t, gate.Open(t.Context())) }
		present := func() { must(t, gate.Shut(t.Context())) }
		c.plan("getW", then(expiring(servers, c, past), present))
		waiting := begin(t, recipes.NewBarrier(c, "/gate").Wait)
		time.Sleep(time.Second)
		waiting.waits(t)
		must(t, gate.Open(t.Context()))
		waiting.returns(t, nil)
	})
}

// A znode whose create was lost is looked for, and made under the same name in the same session only.
func TestNamesOfLostCreates(t *testing.T) {
	lockWith := func(t *testing.T, plan func(servers *goclient.Local, c *faulty)) string {
		var log string
		world(t, func(t *testing.T, servers *goclient.Local) {
			c := connect(t, servers)
			must(t, recipes.NewLock(c, "/l").Lock(t.Context()))
			c = connect(t, servers)
			plan(servers, c)
			w := begin(t, recipes.NewLock(c, "/l").Lock)
			time.Sleep(time.Second)
			log = c.transcript()
			w.cancel()
			<-w.result
			time.Sleep(time.Second)
		})
		return log
	}
	for name, test := range map[string]struct {
		plan          func(servers *goclient.Local, c *faulty)
		creates, same bool
	}{
		"request lost": {func(_ *goclient.Local, c *faulty) { c.plan("create", loseRequest) }, true, true},
		"reply lost":   {func(_ *goclient.Local, c *faulty) { c.plan("create", loseReply) }, false, true},
		"request lost and expired": {func(s *goclient.Local, c *faulty) {
			c.plan("create", then(loseRequest, func() { s.Expire(c.Conn); time.Sleep(time.Millisecond) }))
		}, true, false},
		"deleted when looked for": {func(_ *goclient.Local, c *faulty) {
			c.plan("create", loseReply)
			c.plan("exists", after(func() { deleteOwn(c, "/l") }))
		}, true, true},
	} {
		log := lockWith(t, test.plan)
		if got := strings.Count(log, "create /l/") > 1; got != test.creates {
			t.Errorf("%s: made again: %v\n%s", name, got, log)
		}
		if got := !strings.Contains(log, "create /l/lock-B"); got != test.same {
			t.Errorf("%s: under the same name: %v\n%s", name, got, log)
		}
	}
}

// deleteOwn deletes the znodes of the session.
func deleteOwn(c *faulty, dir string) {
	names, _, _ := c.Conn.Children(dir)
	for _, name := range names {
		if _, stat, _ := c.Conn.Exists(dir + "/" + name); stat.EphemeralOwner == c.SessionID() {
			c.Conn.Delete(dir+"/"+name, -1)
		}
	}
}

// Missing ancestors are made with as few requests as possible.
func TestMissingAncestors(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		c := connect(t, servers)
		must(t, recipes.NewLock(c, "/a/b/lock").Lock(t.Context()))
		if got := attempts(c, "create"); got != 7 {
			t.Errorf("%d creates", got)
		}
	})
}

// Above a directory at the top there is the root, which need not be made.
func TestParentOfTheTop(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		c := connect(t, servers)
		c.plan("create", refuse(zk.ErrNoNode), refuse(zk.ErrNoNode))
		must(t, recipes.NewLock(c, "/x").Lock(t.Context()))
	})
}
