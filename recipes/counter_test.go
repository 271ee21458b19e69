package recipes_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/recipes"
)

func wantNumber(t *testing.T, c *recipes.Counter, want int64) {
	t.Helper()
	if n, err := c.Get(t.Context()); n != want || err != nil {
		t.Errorf("Get = %d, %v, want %d", n, err, want)
	}
}

func wantSum(t *testing.T, c *recipes.Counter, delta, want int64) {
	t.Helper()
	if n, err := c.Add(t.Context(), delta); n != want || err != nil {
		t.Errorf("Add(%d) = %d, %v, want %d", delta, n, err, want)
	}
}

func TestCounterRequests(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		conn := connect(t, servers)
		c := recipes.NewCounter(conn, "/n")
		wantNumber(t, c, 0)
		expect(t, conn, `multi 1: node does not exist
			get /n/value: node does not exist`)
		wantSum(t, c, 5, 5)
		expect(t, conn, `get /n/value: node does not exist
			create /n/claim-A: node does not exist
			create /n: ok
			create /n/claim-A: ok
			multi 2: ok`)
		wantSum(t, c, -7, -2)
		expect(t, conn, `get /n/value: ok
			multi 2: ok`)
		wantNumber(t, c, -2)
		expect(t, conn, `multi 1: ok
			get /n/value: ok`)
	})
}

// Lost requests and replies at every step, also while another client goes on counting.
func TestCounterLosses(t *testing.T) {
	for _, test := range []struct {
		name, op string
		faults   []fault
	}{
		{"read", "get", []fault{loseReply, loseRequest}},
		{"claim", "create", []fault{loseReply, loseRequest}},
		{"not added", "multi", []fault{loseRequest}},
		{"added", "multi", []fault{loseReply}},
		{"added at the second try", "multi", []fault{loseRequest, loseReply}},
		{"no server", "multi", []fault{refuse(zk.ErrNoServer)}},
	} {
		t.Run(test.name, func(t *testing.T) {
			world(t, func(t *testing.T, servers *goclient.Local) {
				conn := connect(t, servers)
				conn.plan(test.op, test.faults...)
				c := recipes.NewCounter(conn, "/n")
				wantSum(t, c, 1, 1)
				wantSum(t, c, 1, 2)
				wantNumber(t, c, 2)
			})
		})
	}
}

// The reply is lost, and before the client can look another has added something: neither the
// version nor the number tell what became of the addition (bugs C1 and C2).
func TestCounterLostReplyAndAnother(t *testing.T) {
	for name, lost := range map[string]fault{"added": loseReply, "not added": loseRequest} {
		t.Run(name, func(t *testing.T) {
			world(t, func(t *testing.T, servers *goclient.Local) {
				conn, other := connect(t, servers), recipes.NewCounter(connect(t, servers), "/n")
				c := recipes.NewCounter(conn, "/n")
				wantSum(t, other, 10, 10)
				conn.plan("multi", then(lost, func() { other.Add(t.Context(), 10) }))
				_, err := c.Add(t.Context(), 1)
				must(t, err)
				wantNumber(t, c, 21)
			})
		})
	}
}

// Somebody else is faster between read and write.
func TestCounterContention(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		conn, other := connect(t, servers), recipes.NewCounter(connect(t, servers), "/n")
		faster := then(healthy, func() { other.Add(t.Context(), 10) })
		c := recipes.NewCounter(conn, "/n")
		conn.plan("get", faster, faster)
		wantSum(t, c, 1, 21) // the first other addition is a create, the second a set
		expect(t, conn, `get /n/value: node does not exist
			create /n/claim-A: ok
			multi 2: node already exists
			get /n/value: ok
			multi 2: version conflict
			get /n/value: ok
			multi 2: ok`)
	})
}

// The session ends with the reply: nobody can tell, and the error says so and what the sum would be.
func TestCounterUnknownOutcome(t *testing.T) {
	for name, lost := range map[string]fault{"added": loseReply, "not added": loseRequest} {
		t.Run(name, func(t *testing.T) {
			world(t, func(t *testing.T, servers *goclient.Local) {
				conn := connect(t, servers)
				c := recipes.NewCounter(conn, "/n")
				wantSum(t, c, 1, 1)
				conn.plan("multi", then(lost, func() { servers.Expire(conn.Conn) }))
				_, err := c.Add(t.Context(), 1)
				var unknown *recipes.UnknownOutcomeError
				if !errors.As(err, &unknown) || string(unknown.Data) != "2" ||
					unknown.Op != "add" || unknown.Path != "/n/value" {
					t.Fatalf("Add: %v", err)
				}
				want := int64(1)
				if name == "added" {
					want = 2
				}
				wantNumber(t, c, want)
				wantSum(t, c, 5, want+5)
			})
		})
	}
}

// A caller that leaves during the write does not know; one that leaves before has added nothing.
func TestCounterCancelled(t *testing.T) {
	for op, unknown := range map[string]bool{"get": false, "multi": true} {
		t.Run(op, func(t *testing.T) {
			world(t, func(t *testing.T, servers *goclient.Local) {
				conn, letGo := connect(t, servers), make(chan struct{})
				c := recipes.NewCounter(conn, "/n")
				wantSum(t, c, 1, 1)
				conn.plan(op, hang(letGo))
				ctx, cancel := context.WithCancel(t.Context())
				result := make(chan error, 1)
				go func() { _, err := c.Add(ctx, 1); result <- err }()
				synctest.Wait()
				cancel()
				err := <-result
				if !errors.Is(err, context.Canceled) || errors.Is(err, recipes.ErrUnknownOutcome) != unknown {
					t.Errorf("Add: %v", err)
				}
				close(letGo)
				synctest.Wait()
				want := int64(1)
				if unknown {
					want = 2
				}
				wantNumber(t, c, want)
				if _, err := c.Add(ctx, 1); err != context.Canceled {
					t.Errorf("Add with a context that has ended: %v", err)
				}
				if _, err := c.Get(ctx); err != context.Canceled {
					t.Errorf("Get with a context that has ended: %v", err)
				}
			})
		})
	}
}

func TestCounterErrors(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		conn := connect(t, servers)
		c := recipes.NewCounter(conn, "/n")
		wantSum(t, c, math.MaxInt64, math.MaxInt64)
		if _, err := c.Add(t.Context(), 1); !errors.Is(err, recipes.ErrOverflow) {
			t.Errorf("Add: %v", err)
		}
		wantSum(t, c, 0, math.MaxInt64)
		conn.Set("/n/value", []byte("many"), -1)
		const want = "recipes: get counter /n: " +
			`recipes: the counter's znode does not hold a decimal number of 64 bits, but "many"`
		if _, err := c.Get(t.Context()); !errors.Is(err, recipes.ErrNotNumber) || err.Error() != want {
			t.Errorf("Get: %v", err)
		}
		if _, err := c.Add(t.Context(), 1); !errors.Is(err, recipes.ErrNotNumber) {
			t.Errorf("Add: %v", err)
		}
		conn.plan("get", refuse(zk.ErrNoAuth))
		if _, err := c.Get(t.Context()); !errors.Is(err, zk.ErrNoAuth) {
			t.Errorf("Get: %v", err)
		}
		conn.Close()
		if _, err := c.Add(t.Context(), 1); !errors.Is(err, recipes.ErrClosed) {
			t.Errorf("Add after Close: %v", err)
		}
	})
}
