package published_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/zoo/published"
)

type zkLocker interface {
	Lock(context.Context) error
	Unlock(context.Context) error
}

var zkLocks = map[string]func(conn recipes.Conn, bugs published.Bugs) zkLocker{
	"ZkLock": func(conn recipes.Conn, bugs published.Bugs) zkLocker { return published.NewZkLock(conn, "/lock", bugs) },
	"WatchLock": func(conn recipes.Conn, bugs published.Bugs) zkLocker {
		return published.NewWatchLock(new(published.Monitors), conn, "/lock", bugs)
	},
	"KazooLock": func(conn recipes.Conn, bugs published.Bugs) zkLocker {
		return published.NewKazooLock(conn, "/lock", bugs)
	},
	"CuratorLock": func(conn recipes.Conn, bugs published.Bugs) zkLocker {
		return published.NewCuratorLock(conn, "/lock", time.Second, bugs)
	},
	"DistributedLock": func(conn recipes.Conn, bugs published.Bugs) zkLocker {
		return published.NewDistributedLock(conn, "/lock", bugs)
	},
}

// On a good day the published locks work, and so do their twins.
func TestZKLocksOnAGoodDay(t *testing.T) {
	for name, make := range zkLocks {
		for _, bugs := range []published.Bugs{published.AllBugs(), published.NoBugs()} {
			world(t, func(t *testing.T, servers *fakezk.Local) {
				a, b := make(connect(t, servers), bugs), make(connect(t, servers), bugs)
				must(t, a.Lock(t.Context()))
				got := goLock(t.Context(), b)
				if len(got) != 0 {
					t.Errorf("%s with %v: the second does not wait for the first", name, bugs)
				}
				must(t, a.Unlock(t.Context()))
				must(t, <-got)
				must(t, b.Unlock(t.Context()))
			})
		}
	}
}

func goLock(ctx context.Context, l zkLocker) chan error {
	got := make(chan error, 1)
	go func() { got <- l.Lock(ctx) }()
	time.Sleep(time.Second) // until it has begun to wait
	synctest.Wait()
	return got
}

// Who gives up leaves nothing behind, unless that is the bug.
func TestZKLocksGivenUp(t *testing.T) {
	for name, make := range zkLocks {
		for _, bugs := range []published.Bugs{published.NoBugs(), published.OnlyBugs("L28")} {
			world(t, func(t *testing.T, servers *fakezk.Local) {
				a, b := make(connect(t, servers), bugs), make(connect(t, servers), bugs)
				c := make(connect(t, servers), bugs)
				must(t, a.Lock(t.Context()))
				ctx, cancel := context.WithCancel(t.Context())
				got := goLock(ctx, b)
				cancel()
				if err := <-got; !errors.Is(err, context.Canceled) {
					t.Errorf("%s: %v", name, err)
				}
				must(t, a.Unlock(t.Context()))
				ctx, cancel = context.WithCancel(t.Context())
				defer cancel()
				waits := len(goLock(ctx, c)) == 0
				if want := name == "DistributedLock" && bugs.Has("L28"); waits != want {
					t.Errorf("%s with %v: the next waits is %v", name, bugs, waits)
				}
			})
		}
	}
}
