package recipes_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/recipes"
)

func candidate(c recipes.Conn, address string) *recipes.Candidate {
	return recipes.NewCandidate(c, "/lead", recipes.WithData([]byte(address)))
}

// underWay is a call under way.
type underWay struct {
	result chan error
	cancel context.CancelFunc
}

func start(t *testing.T, call func(context.Context) error) underWay {
	ctx, cancel := context.WithCancel(t.Context())
	u := underWay{make(chan error, 1), cancel}
	go func() { u.result <- call(ctx) }()
	synctest.Wait()
	return u
}

// returned reports whether the call has returned nil by now.
func (u underWay) returned(t *testing.T) bool {
	t.Helper()
	synctest.Wait()
	select {
	case err := <-u.result:
		must(t, err)
		return true
	default:
		return false
	}
}

func wantLeader(t *testing.T, c *recipes.Candidate, address string, token int64) {
	t.Helper()
	data, got, err := c.Leader(t.Context())
	if string(data) != address || err != nil || token != 0 && got != token {
		t.Errorf("Leader = %q, %d, %v, want %q, %d", data, got, err, address, token)
	}
}

// wantBare wants nothing in a directory.
func wantBare(t *testing.T, servers *goclient.Local, dir string) {
	t.Helper()
	synctest.Wait()
	if dump := servers.Dump(dir); dump != dir+" \"\"\n" {
		t.Errorf("left behind:\n%s", dump)
	}
}

func TestElectionRequests(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		a, b := connect(t, servers), connect(t, servers)
		ca, cb := candidate(a, "a"), candidate(b, "b")
		if _, _, err := ca.Leader(t.Context()); !errors.Is(err, recipes.ErrNoLeader) {
			t.Errorf("Leader of nobody: %v", err)
		}
		a.transcript()
		must(t, ca.Campaign(t.Context()))
		expect(t, a, `create /lead/candidate-A-: node does not exist
			create /lead: ok
			create /lead/candidate-A-: ok
			children /lead: ok
			getW /lead/candidate-A-0000000000: ok`)
		w := start(t, cb.Campaign)
		expect(t, b, `create /lead/candidate-A-: ok
			children /lead: ok
			getW /lead/candidate-B-0000000000: ok`)
		wantLeader(t, cb, "a", ca.Token())
		expect(t, b, `multi 1: ok
			children /lead: ok
			get /lead/candidate-A-0000000000: ok`)
		must(t, ca.Resign(t.Context()))
		expect(t, a, `delete /lead/candidate-A-0000000000: ok`)
		if !w.returned(t) {
			t.Fatal("the next candidate is not elected")
		}
		expect(t, b, `children /lead: ok
			getW /lead/candidate-A-0000000001: ok`)
		must(t, cb.Resign(t.Context()))
		wantBare(t, servers, "/lead")
	})
}

// A leader whose session has ended is told so, is no obstacle, and may campaign again.
func TestElectionExpiry(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		a, b := connect(t, servers), connect(t, servers)
		ca, cb := candidate(a, "a"), candidate(b, "b")
		must(t, ca.Campaign(t.Context()))
		lost, token := ca.Lost(), ca.Token()
		w := start(t, cb.Campaign)
		servers.Disconnect(a.Conn)
		servers.Expire(a.Conn)
		if !w.returned(t) || cb.Token() <= token || !ca.Leads() {
			t.Fatal("the next candidate is not elected with a greater token while the old leader does not know")
		}
		servers.Reconnect(a.Conn)
		if !closed(lost) || ca.Leads() {
			t.Error("the old leader goes on after it was told")
		}
		wantLeader(t, ca, "b", cb.Token())
		if err := ca.Resign(t.Context()); !errors.Is(err, recipes.ErrLost) {
			t.Errorf("Resign of a lost term: %v", err)
		}
		must(t, cb.Resign(t.Context()))
		must(t, ca.Campaign(t.Context()))
		must(t, ca.Resign(t.Context()))
		wantBare(t, servers, "/lead")
	})
}

// A candidate that gives up is out, and the one behind it does not take its end for its own turn
// (bugs E1 and E2).
func TestElectionCancelled(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		a, b := candidate(connect(t, servers), "a"), candidate(connect(t, servers), "b")
		c := candidate(connect(t, servers), "c")
		must(t, a.Campaign(t.Context()))
		wb, wc := start(t, b.Campaign), start(t, c.Campaign)
		wb.cancel()
		if err := <-wb.result; !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled Campaign: %v", err)
		}
		if wc.returned(t) {
			t.Fatal("two lead")
		}
		must(t, a.Resign(t.Context()))
		if !wc.returned(t) {
			t.Fatal("nobody leads")
		}
		if err := b.Resign(t.Context()); err != recipes.ErrNotHeld {
			t.Errorf("Resign without a term: %v", err)
		}
		must(t, c.Resign(t.Context()))
		wantBare(t, servers, "/lead")
	})
}

// The own znode of a lost create is found again, so that the candidate does not wait for itself
// (bug E4), and a lost reply to the resignation is no obstacle.
func TestElectionLosses(t *testing.T) {
	for op, f := range map[string]fault{
		"create": loseReply, "delete": loseReply, "getW": loseReply, "children": loseRequest,
	} {
		t.Run(op, func(t *testing.T) {
			world(t, func(t *testing.T, servers *goclient.Local) {
				conn := connect(t, servers)
				conn.plan(op, healthy, f) // the first create finds no directory
				if op != "create" {
					conn.plan(op, f)
				}
				c := candidate(conn, "a")
				must(t, c.Campaign(t.Context()))
				must(t, c.Resign(t.Context()))
				wantBare(t, servers, "/lead")
			})
		})
	}
}

func TestLead(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		conn := connect(t, servers)
		c, broke := candidate(conn, "a"), errors.New("broke")
		err := c.Lead(t.Context(), func(ctx context.Context, token int64) error {
			if token != c.Token() || token == 0 || ctx.Err() != nil {
				t.Errorf("token %d, not %d; %v", token, c.Token(), ctx.Err())
			}
			return broke
		})
		if err == nil || !errors.Is(err, broke) || errors.Is(err, recipes.ErrLost) || c.Leads() {
			t.Errorf("Lead: %v", err)
		}
		wantBare(t, servers, "/lead")
		err = c.Lead(t.Context(), func(ctx context.Context, _ int64) error {
			servers.Expire(conn.Conn)
			<-ctx.Done()
			return context.Cause(ctx)
		})
		if !errors.Is(err, recipes.ErrLost) {
			t.Errorf("Lead of a lost term: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		err = c.Lead(ctx, func(ctx context.Context, _ int64) error {
			cancel()
			<-ctx.Done()
			return nil
		})
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("Lead of a term that was called off: %v", err)
		}
		wantBare(t, servers, "/lead")
		if err := c.Lead(ctx, nil); err != context.Canceled {
			t.Errorf("Lead with a context that has ended: %v", err)
		}
	})
}

// The question who leads goes on when the first candidate vanishes between list and read.
func TestLeaderVanishes(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		a, conn := candidate(connect(t, servers), "a"), connect(t, servers)
		b := candidate(connect(t, servers), "b")
		must(t, a.Campaign(t.Context()))
		w := start(t, b.Campaign)
		conn.plan("children", then(healthy, func() { a.Resign(t.Context()) }))
		wantLeader(t, candidate(conn, ""), "b", 0)
		if !w.returned(t) {
			t.Fatal("the next candidate is not elected")
		}
		must(t, b.Resign(t.Context()))
	})
}
