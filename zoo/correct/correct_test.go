// Package correct has correct recipes in styles that differ from those of package recipes, of which none may be accused:
// with default settings, which are all faults but the rare ones.
package correct

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/workload"
)

// styles are the recipes, by what is particular about them.
var styles = map[string]func() *workload.Workload{}

func TestNoCorrectRecipeIsAccused(t *testing.T) {
	for name, of := range styles {
		t.Run(name, func(t *testing.T) {
			testkit.ManyWorlds(t)
			r, err := sim.Run(t.Context(), of(), sim.Config{Episodes: testkit.Sized(testkit.Share(300), 20_000), Seed: 1, Strategy: "stages"})
			if err != nil {
				t.Fatal(err)
			}
			if r.Verdict != sim.VerdictOK {
				t.Errorf("%s (%s) in %d episodes", r.Verdict, r.Reason, r.Episodes)
			}
			for i := range r.Violations {
				t.Errorf("%s: %s", r.Violations[i].Property, r.Violations[i].Message)
				t.Log(r.Violations[i].Story(of()))
			}
		})
	}
}

var acl = zk.WorldACL(zk.PermAll)

// lost reports whether it is not known what has become of a request.
func lost(err error) bool {
	var broken net.Error
	return errors.Is(err, zk.ErrConnectionClosed) || errors.Is(err, zk.ErrNoServer) || errors.Is(err, zk.ErrSessionExpired) ||
		errors.Is(err, zk.ErrSessionMoved) || errors.Is(err, zk.ErrClosing) || errors.As(err, &broken)
}

// again repeats a request until it is answered.
func again(ctx context.Context, request func() error) error {
	for {
		err := request()
		if !lost(err) {
			return err
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// make makes a path with all that is above it.
func makePath(ctx context.Context, c recipes.Conn, path string) error {
	for i := 1; i <= len(path); i++ {
		if i < len(path) && path[i] != '/' {
			continue
		}
		err := again(ctx, func() error { _, err := c.Create(path[:i], nil, zk.FlagPersistent, acl); return err })
		if err != nil && !errors.Is(err, zk.ErrNodeExists) {
			return err
		}
	}
	return nil
}
