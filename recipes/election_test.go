package recipes_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

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
		err = c.Lead(ctx, func(ctx context.Context, _ int64) error {
			cancel()
			<-ctx.Done()
			return nil
		})
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("Lead of a term that was called off: %v", err)
		}
		wantBare()
		if err := c.Lead(ctx, nil); err != context.Canceled {
			t.Errorf("Lead with a context that has ended: %v", err)
		}
	})
}
