package cli

import (
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk/wire/strike"
	"github.com/zktorture/zktorture/live/ensemble"
	"github.com/zktorture/zktorture/live/ensemble/ensembletest"
	"github.com/zktorture/zktorture/live/zkclient"
)

// three starts three served servers, with a client of the leader and one of the first follower.
func three(t *testing.T) (s *servedServers, leader, follower *zkclient.Client) {
	t.Helper()
	s, err := startServed(3)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	leader, follower = client(t, s.Addr(0)), client(t, s.Addr(1))
	if _, err := leader.Create("/z", []byte("old"), 0, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	return s, leader, follower
}

func striking(t *testing.T, s *servedServers, f ensemble.Fault) *ensemble.Struck {
	t.Helper()
	struck, err := s.Strike(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	return struck
}

func read(t *testing.T, c *zkclient.Client) string {
	t.Helper()
	data, _, err := c.Get("/z")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// A lagging follower is stale until it is healed.
func TestServedLag(t *testing.T) {
	s, leader, follower := three(t)
	struck := striking(t, s, ensemble.Fault{Kind: strike.Lag, Target: ensemble.Follower})
	if struck.Where() != "server.2 (follower)" {
		t.Error(struck)
	}
	if _, err := leader.Set("/z", []byte("new"), -1); err != nil {
		t.Fatal(err)
	}
	if got := read(t, follower); got != "old" {
		t.Errorf("it lags, and has %s", got)
	}
	if err := s.HealAll(t.Context()); err != nil || read(t, follower) != "new" {
		t.Errorf("healed, it has not heard: %v", err)
	}
}

// A killed server cuts its clients off, and a stopped one keeps them waiting, until the fault is undone.
func TestServedKillAndStop(t *testing.T) {
	s, leader, _ := three(t)
	killed := striking(t, s, ensemble.Fault{Kind: strike.Kill, Target: ensemble.Leader})
	if killed.Where() != "server.1 (leader)" {
		t.Error(killed)
	}
	if _, _, err := leader.Get("/z"); err == nil {
		t.Error("a dead server answers")
	}
	if _, err := s.Strike(t.Context(), ensemble.Fault{Kind: strike.Stop, Target: 0}); err == nil {
		t.Error("a dead server is stopped")
	}
	next := striking(t, s, ensemble.Fault{Kind: strike.Stop, Target: ensemble.Leader})
	if next.Where() != "server.2 (leader)" {
		t.Errorf("nobody has replaced the leader: %v", next)
	}
	next.Undo()
	if err := s.HealAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	if client(t, s.Addr(0)).SessionID() == 0 {
		t.Error("a server that was started again serves nobody")
	}
	follower := client(t, s.Addr(1)) // the election has cut it off
	stopped := striking(t, s, ensemble.Fault{Kind: strike.Stop, Target: 1})
	if killed.Undo(); stopped.Role != "leader" {
		t.Error(stopped)
	}
	answer := make(chan string, 1)
	go func() {
		data, _, _ := follower.Get("/z")
		answer <- string(data)
	}()
	if _, err := client(t, s.Addr(2)).Set("/z", []byte("new"), -1); err != nil {
		t.Fatal(err)
	}
	stopped.Undo()
	if got := <-answer; got != "new" {
		t.Errorf("a stopped server has answered %q", got)
	}
}

func TestServedStrikeRefuses(t *testing.T) {
	s, _, _ := three(t)
	for _, f := range []ensemble.Fault{
		{Kind: strike.Expiry, Target: 0}, {Kind: strike.Lag, Target: 0},
		{Kind: strike.Kill, Target: 3}, {Kind: "rain"},
	} {
		if struck, err := s.Strike(t.Context(), f); err == nil {
			t.Errorf("it struck: %v", struck)
		}
	}
	if len(s.hurt) > 0 {
		t.Errorf("%d members are hurt by faults that did not strike", len(s.hurt))
	}
}

func client(t *testing.T, servers string) *zkclient.Client {
	t.Helper()
	return ensembletest.Connect(t, zkclient.Config{Servers: servers, SessionTimeout: ensembletest.Lasting})
}
