package cluster_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/recipes/cluster"
)

// The znode of a cache has the list of those who may do what that its option says.
func TestCacheHasAnACL(t *testing.T) {
	servers(t, func(t *testing.T, connect func() recipes.Conn) {
		c, acl := connect(), zk.WorldACL(zk.PermRead|zk.PermWrite)
		must(t, cluster.NewCache(c, "/value", recipes.WithACL(acl)).Set(t.Context(), []byte("a")))
		if got, _, err := c.GetACL("/value"); err != nil || len(got) != 1 || got[0] != acl[0] {
			t.Errorf("the ACL is %v, want %v; %v", got, acl, err)
		}
	})
}

// What is lost with the connection, by whatever error go-zookeeper lets through, may have been carried out, and a request
// that was never sent is sent.
func TestCacheSaysWhatIsUnknown(t *testing.T) {
	servers(t, func(t *testing.T, connect func() recipes.Conn) {
		fails := []error{io.EOF, io.ErrClosedPipe, zk.ErrConnectionClosed, zk.ErrNoServer}
		conn := recipes.Around(connect(), func(op, _ string, send func() error) error {
			if op == "set" && len(fails) > 0 {
				err := fails[0]
				fails = fails[1:]
				return err
			}
			return send()
		})
		cache := cluster.NewCache(conn, "/value")
		for range 3 {
			of := fails[0]
			if err := cache.Set(t.Context(), []byte("a")); !errors.Is(err, recipes.ErrUnknownOutcome) || !errors.Is(err, of) {
				t.Errorf("after %v: %v", of, err)
			}
		}
		must(t, cache.Set(t.Context(), []byte("b")))
		if value, err := cache.Next(t.Context()); string(value) != "b" || err != nil {
			t.Errorf("a set that was not sent at first: then the value is %q, %v", value, err)
		}
	})
}

// Next ends when the connection is closed, whether it waits or begins then.
func TestCacheEndsWithItsConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn, _, err := goclient.NewLocal(fakezk.Config{}).Connect(10 * time.Second)
		must(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cache := cluster.NewCache(conn, "/value")
		go func() { synctest.Wait(); conn.Close() }()
		if _, err := cache.Next(ctx); !errors.Is(err, recipes.ErrClosed) {
			t.Errorf("Next that waits: %v", err)
		}
		if _, err := cache.Next(ctx); !errors.Is(err, recipes.ErrNoAnswer) {
			t.Errorf("Next that begins later: %v", err)
		}
	})
}
