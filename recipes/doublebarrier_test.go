package recipes_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/recipes"
)

func (c *call) waits(t *testing.T) {
	t.Helper()
	synctest.Wait()
	select {
	case err := <-c.result:
		t.Fatalf("it has returned: %v", err)
	default:
	}
}

func (c *call) returns(t *testing.T, want error) {
	t.Helper()
	synctest.Wait()
	select {
	case err := <-c.result:
		if !errors.Is(err, want) {
			t.Fatalf("it returned %v, want %v", err, want)
		}
	default:
		t.Fatal("it still waits")
	}
}

func meetingPoint(t *testing.T, servers *goclient.Local, parties int) (*faulty, *recipes.DoubleBarrier) {
	c := connect(t, servers)
	return c, recipes.NewDoubleBarrier(c, "/b", parties)
}

// deserted wants no member to be left.
func deserted(t *testing.T, servers *goclient.Local) {
	t.Helper()
	synctest.Wait()
	if names, _, err := connect(t, servers).Children("/b"); err != nil || len(names) > 0 {
		t.Errorf("left behind: %v, %v", names, err)
	}
}

func TestDoubleBarrierRounds(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		_, a := meetingPoint(t, servers, 2)
		_, b := meetingPoint(t, servers, 2)
		_, late := meetingPoint(t, servers, 2)
		for range 3 {
			first := begin(t, a.Enter)
			first.waits(t)
			must(t, b.Enter(t.Context()))
			first.returns(t, nil)
			third := begin(t, late.Enter) // there, but the round is full
			third.waits(t)
			leaving := begin(t, a.Leave)
			leaving.waits(t)
			third.waits(t)
			must(t, b.Leave(t.Context()))
			leaving.returns(t, nil)
			third.waits(t)
			third.cancel()
			third.returns(t, context.Canceled)
		}
		deserted(t, servers)
	})
}

func TestDoubleBarrierOfLateComers(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		_, a := meetingPoint(t, servers, 1)
		must(t, a.Enter(t.Context()))
		_, b := meetingPoint(t, servers, 1)
		next := begin(t, b.Enter)
		next.waits(t)
		must(t, a.Leave(t.Context()))
		next.returns(t, nil)
	})
}

func TestDoubleBarrierRequests(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		c, b := meetingPoint(t, servers, 1)
		must(t, b.Enter(t.Context()))
		expect(t, c, `create /b/member-A-: node does not exist
			create /b: ok
			create /b/member-A-: ok
			getW /b: ok
			children /b: ok
			multi 2: ok
			getW /b: ok
			children /b: ok
			getW /b/member-A-0000000000: ok`)
		must(t, b.Leave(t.Context()))
		expect(t, c, `multi 1: ok
			children /b: ok
			delete /b/member-A-0000000000: ok`)
	})
}

// A request or a reply may be lost anywhere.
func TestDoubleBarrierLosses(t *testing.T) {
	for _, op := range []string{"create", "getW", "children", "multi", "sync", "delete"} {
		for name, lost := range map[string]fault{"request": loseRequest, "reply": loseReply} {
			t.Run(op+" "+name, func(t *testing.T) {
				world(t, func(t *testing.T, servers *goclient.Local) {
					c, a := meetingPoint(t, servers, 2)
					_, b := meetingPoint(t, servers, 2)
					c.plan(op, lost, lost)
					first := begin(t, b.Enter)
					must(t, a.Enter(t.Context()))
					first.returns(t, nil)
					leaving := begin(t, b.Leave)
					must(t, a.Leave(t.Context()))
					leaving.returns(t, nil)
					deserted(t, servers)
				})
			})
		}
	}
}

func TestDoubleBarrierGivesUp(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		_, a := meetingPoint(t, servers, 2)
		_, b := meetingPoint(t, servers, 2)
		gone := begin(t, a.Enter)
		gone.cancel()
		gone.returns(t, context.Canceled)
		alone := begin(t, b.Enter)
		alone.waits(t)
		must(t, a.Enter(t.Context()))
		alone.returns(t, nil)
	})
}

// A member whose request hangs returns when its caller gives up, and counts once when it is back.
func TestDoubleBarrierHangs(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		c, a := meetingPoint(t, servers, 2)
		letGo := make(chan struct{})
		c.plan("create", healthy, healthy, hang(letGo))
		stuck := begin(t, a.Enter)
		stuck.waits(t)
		stuck.cancel()
		stuck.returns(t, context.Canceled)
		again := begin(t, a.Enter)
		again.waits(t)
		close(letGo)
		again.waits(t) // the znode of the first try is gone, that of the second is alone
		_, b := meetingPoint(t, servers, 2)
		must(t, b.Enter(t.Context()))
		again.returns(t, nil)
	})
}

func TestDoubleBarrierDeath(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		c, a := meetingPoint(t, servers, 2)
		_, b := meetingPoint(t, servers, 2)
		first := begin(t, b.Enter)
		must(t, a.Enter(t.Context()))
		first.returns(t, nil)
		leaving := begin(t, b.Leave)
		leaving.waits(t)
		servers.Expire(c.Conn)
		leaving.returns(t, nil)
		if err := a.Leave(t.Context()); err != recipes.ErrPlaceLost {
			t.Errorf("Leave: %v", err)
		}
	})
}

// Whoever loses its session in line stands at the end of it again.
func TestDoubleBarrierExpiryInLine(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		c, a := meetingPoint(t, servers, 2)
		first := begin(t, a.Enter)
		servers.Expire(c.Conn)
		first.waits(t)
		_, b := meetingPoint(t, servers, 2)
		must(t, b.Enter(t.Context()))
		first.returns(t, nil)
	})
}

func TestDoubleBarrierCancelledLeave(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		_, a := meetingPoint(t, servers, 2)
		_, b := meetingPoint(t, servers, 2)
		first := begin(t, b.Enter)
		must(t, a.Enter(t.Context()))
		first.returns(t, nil)
		leaving := begin(t, b.Leave) // the oldest, which keeps its znode
		leaving.waits(t)
		leaving.cancel()
		leaving.returns(t, context.Canceled)
		must(t, a.Leave(t.Context()))
		deserted(t, servers)
	})
}

func TestDoubleBarrierMistakes(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		c, a := meetingPoint(t, servers, 2)
		if err := a.Leave(t.Context()); err != recipes.ErrNotEntered {
			t.Errorf("Leave: %v", err)
		}
		waiting := begin(t, a.Enter)
		if err := a.Enter(t.Context()); err != recipes.ErrEntered {
			t.Errorf("Enter: %v", err)
		}
		c.Close()
		waiting.returns(t, recipes.ErrClosed)
		if err := recipes.NewDoubleBarrier(c, "/b", 0).Enter(t.Context()); err == nil {
			t.Error("a barrier for nobody was entered")
		}
		d := connect(t, servers)
		d.plan("create", refuse(zk.ErrNoAuth))
		if err := recipes.NewDoubleBarrier(d, "/b", 1).Enter(t.Context()); !errors.Is(err, zk.ErrNoAuth) {
			t.Errorf("Enter: %v", err)
		}
	})
}
