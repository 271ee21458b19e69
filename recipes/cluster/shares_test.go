package cluster_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/recipes/cluster"
)

// servers are for as many clients as a test asks for.
func servers(t *testing.T, body func(t *testing.T, connect func() recipes.Conn)) {
	synctest.Test(t, func(t *testing.T) {
		local := goclient.NewLocal(fakezk.Config{})
		body(t, func() recipes.Conn {
			c, _, err := local.Connect(10 * time.Second)
			must(t, err)
			t.Cleanup(c.Close)
			return c
		})
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestNumbersAreLeasedOnce(t *testing.T) {
	servers(t, func(t *testing.T, connect func() recipes.Conn) {
		var all []*cluster.IDs
		for range 3 {
			all = append(all, cluster.NewIDs(connect(), "/ids", 2))
		}
		first, err := all[0].Lease(t.Context())
		must(t, err)
		second, err := all[1].Lease(t.Context())
		must(t, err)
		if first == second || first+second != 1 {
			t.Fatalf("of 0 and 1 two users have %d and %d", first, second)
		}
		third := make(chan int64, 1)
		go func() {
			n, _ := all[2].Lease(t.Context())
			third <- n
		}()
		synctest.Wait()
		if len(third) > 0 {
			t.Error("there are two numbers, and three users have one")
		}
		token := all[1].Token()
		must(t, all[1].Free(t.Context()))
		if n := <-third; n != second || all[2].Token() <= token {
			t.Errorf("%d was free, and %d is leased; its token was %d, and is %d", second, n, token, all[2].Token())
		}
		must(t, all[0].Free(t.Context()))
		must(t, all[2].Free(t.Context()))
		if err := all[2].Free(t.Context()); !errors.Is(err, recipes.ErrNotHeld) {
			t.Errorf("freed twice: %v", err)
		}
	})
}

func TestShardsAreDividedAnew(t *testing.T) {
	servers(t, func(t *testing.T, connect func() recipes.Conn) {
		shards := []string{"c", "a", "b"}
		one, other := cluster.NewShards(connect(), "/s", shards), cluster.NewShards(connect(), "/s", shards)
		all, err := one.Share(t.Context())
		must(t, err)
		if !slices.Equal(all, []string{"a", "b", "c"}) || one.Token("b") == 0 {
			t.Fatalf("who is alone owns %v", all)
		}
		rest := make(chan []string, 1)
		go func() {
			own, _ := other.Share(t.Context())
			rest <- own
		}()
		must(t, one.Stale(t.Context()))
		synctest.Wait()
		if len(rest) > 0 {
			t.Error("a share is owned before it was yielded")
		}
		must(t, one.Yield(t.Context()))
		own, err := one.Share(t.Context())
		must(t, err)
		if all := slices.Sorted(slices.Values(slices.Concat(own, <-rest))); !slices.Equal(all, []string{"a", "b", "c"}) {
			t.Errorf("two own %v", all)
		}
		go other.Leave(t.Context())
		must(t, one.Stale(t.Context()))
		must(t, one.Leave(t.Context()))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := one.Share(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("Share for a caller that has left: %v", err)
		}
	})
}
