package recipes_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/recipes"
)

func TestLead(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		conn := connect(t, servers)
		c, broke := recipes.NewCandidate(conn, "/lead"), errors.New("broke")
		wantBare := func() {
			synctest.Wait()
			if dump := servers.Dump("/lead"); dump != "/lead \"\"\n" {
				t.Errorf("left behind:\n%s", dump)
			}
		}
		err := c.Lead(t.Context(), func(ctx context.Context, token int64) error {
			if token != c.Token() || token == 0 || ctx.Err() != nil {
				t.Errorf("token %d, not %d; %v", token, c.Token(), ctx.Err())
			}
			return broke
		})
		if err == nil || !errors.Is(err, broke) || errors.Is(err, recipes.ErrLost) || c.Leads() {
			t.Errorf("Lead: %v", err)
		}
		wantBare()
		err = c.Lead(t.Context(), func(ctx context.Context, _ int64) error {
			servers.Expire(conn.Conn)
			<-ctx.Done()
			return context.Cause(ctx)
		})
		if !errors.Is(err, recipes.ErrLost) {
			t.Errorf("Lead of a lost term: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := c.Lead(ctx, nil); err != context.Canceled {
			t.Errorf("Lead with a context that has ended: %v", err)
		}
	})
}

// A leader that is shut down by its context returns without an error, and has left the election by then.
func TestLeadShutsDownCleanly(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		conn := connect(t, servers)
		for range 200 {
			ctx, cancel := context.WithCancel(t.Context())
			err := recipes.NewCandidate(conn, "/x").Lead(ctx, func(ctx context.Context, _ int64) error {
				cancel()
				<-ctx.Done()
				return nil
			})
			if err != nil || left(servers) > 0 {
				t.Fatalf("Lead whose context has ended: %v, and %d znodes are left", err, left(servers))
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		letGo := make(chan struct{})
		conn.plan("children", hang(letGo))
		go func() { synctest.Wait(); cancel(); synctest.Wait(); close(letGo) }()
		if err := recipes.NewCandidate(conn, "/x").Lead(ctx, nil); err != context.Canceled || left(servers) > 0 {
			t.Errorf("Lead that is called off before a term: %v, and %d znodes are left", err, left(servers))
		}
	})
}

// A leader that cannot reach ZooKeeper waits for a time, and says what goes on.
func TestLeadDoesNotWaitForEver(t *testing.T) {
	world(t, func(t *testing.T, servers *goclient.Local) {
		conn := connect(t, servers)
		letGo := make(chan struct{})
		conn.plan("delete", hang(letGo))
		begun, c := time.Now(), recipes.NewCandidate(conn, "/x")
		err := c.Lead(t.Context(), func(context.Context, int64) error { return nil })
		if took := time.Since(begun); took != 10*time.Second || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Lead without an answer: %v, after %v", err, took)
		}
		close(letGo)
		must(t, c.Settle(t.Context()))
	})
}
