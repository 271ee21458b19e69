package workload

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
)

// byUsers are workloads of our own recipes, made as users make theirs.
var byUsers = map[string]func() *Workload{
	"lock": func() *Workload {
		return Lock(func(c recipes.Conn, path string) Locker { return recipes.NewLock(c, path) })
	},
	"rwlock": func() *Workload {
		return RWLock(func(c recipes.Conn, path string) RWLocker { return recipes.NewRWLock(c, path) })
	},
	"semaphore": func() *Workload {
		return Semaphore(2, func(c recipes.Conn, path string) Permitter { return recipes.NewSemaphore(c, path, 2) })
	},
	"queue": func() *Workload {
		return Queue(func(c recipes.Conn, path string) Queuer { return recipes.NewQueue(c, path) })
	},
	"priorityqueue": func() *Workload {
		return PriorityQueue(func(c recipes.Conn, path string) PriorityQueuer { return recipes.NewPriorityQueue(c, path) })
	},
	"lockingqueue": func() *Workload {
		return LockingQueue(func(c recipes.Conn, path string) LockingQueuer {
			return ourLockingQueue{recipes.NewLockingQueue(c, path)}
		})
	},
	"election": func() *Workload {
		return Election(func(c recipes.Conn, path string) Candidate { return recipes.NewCandidate(c, path) })
	},
	"membership": func() *Workload {
		return Membership(func(c recipes.Conn, path, name string) Grouper { return recipes.NewGroup(c, path, name) })
	},
	"counter": func() *Workload {
		return Counter(func(c recipes.Conn, path string) Adder { return recipes.NewCounter(c, path) })
	},
	"twophase": func() *Workload {
		return TwoPhase(func(c recipes.Conn, path string) Committer { return committer{recipes.NewTwoPhase(c, path)} })
	},
	"barrier": func() *Workload {
		return Gate(func(c recipes.Conn, path string) Gater { return recipes.NewBarrier(c, path) })
	},
	"doublebarrier": func() *Workload {
		return Barrier(2, func(c recipes.Conn, path string) Rendezvous { return recipes.NewDoubleBarrier(c, path, 2) })
	},
}

// runOnSite runs a workload on a fake of real servers, with as little said as can be.
func runOnSite(t *testing.T, w *Workload, rounds int) (out ran) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newSite()
		out.Result, out.err = RunLive(t.Context(), w, LiveConfig{Open: s.open, Root: "/root", Seed: 1, Rounds: rounds})
		if left := s.Dump("/root"); left != "" {
			t.Errorf("left:\n%s", left)
		}
		time.Sleep(time.Minute) // what was given up ends
	})
	return out
}

// Correct recipes pass on real servers however little is said of how to run them, though several rounds are under way at the
// same time: each has a path of its own.
func TestUsersRecipesOnRealServers(t *testing.T) {
	if kinds := Kinds(); len(kinds) != len(byUsers) {
		t.Errorf("%d kinds of %d are run", len(byUsers), len(kinds))
	}
	for kind, of := range byUsers {
		r := runOnSite(t, of(), 60)
		if r.accusesNobody(t); r.err != nil || r.Undecided > 0 || r.Episodes != 60 {
			t.Errorf("%s: %d rounds, %d of them unknown: %s: %v", kind, r.Episodes, r.Undecided, r.Reason, r.err)
		}
	}
}

func writing(path string) any { return &zk.SetDataRequest{Path: path, Version: -1} }

// lookUp makes what is above a path, as some recipes do each time.
func lookUp(c recipes.Conn, path string) error {
	for i := 1; i < len(path); i++ { // not the last, which is the recipe's own
		if path[i] != '/' {
			continue
		}
		if _, err := c.Create(path[:i], nil, 0, zk.WorldACL(zk.PermAll)); err != zk.ErrNodeExists {
			return err
		}
		if there, _, err := c.Exists(path[:i]); !there {
			return err
		}
	}
	return nil
}

// wayward is a lock that has a mind of its own about where it is.
type wayward struct {
	Locker
	stray func() error
}

func (l wayward) Lock(ctx context.Context) error {
	if err := l.stray(); err != nil {
		return err
	}
	return l.Locker.Lock(ctx)
}

// A recipe that does not use its path ends the run with an error that says so; nobody is accused, and nothing is touched
// outside of the run's root.
func TestRecipesThatGoElsewhere(t *testing.T) {
	for asked, way := range map[string]func(c recipes.Conn, path string) Locker{
		"of /app/lock": func(c recipes.Conn, _ string) Locker { return recipes.NewLock(c, "/app/lock") },
		"delete of /root, ": func(c recipes.Conn, p string) Locker {
			return wayward{recipes.NewLock(c, p), func() error { return c.Delete("/root", -1) }}
		},
		"set of /root/r": func(c recipes.Conn, p string) Locker {
			return wayward{recipes.NewLock(c, p), func() error { _, err := c.Multi(writing("/root/rx")); return err }}
		},
	} {
		r := runOnSite(t, Lock(way), 60)
		if len(r.Violations) > 0 || r.err == nil || !strings.Contains(r.err.Error(), asked) || !strings.Contains(r.err.Error(), "the path that its constructor gets") {
			t.Errorf("%s: %v%s", asked, r.err, messages(r.Result))
		}
	}
}

// What a recipe does above its path, to see that it is there, hurts nobody.
func TestRecipesThatLookUp(t *testing.T) {
	w := Lock(func(c recipes.Conn, p string) Locker {
		return wayward{recipes.NewLock(c, p), func() error { return lookUp(c, p) }}
	})
	if r := runOnSite(t, w, 30); r.err != nil || len(r.Violations) > 0 {
		t.Errorf("%v%s", r.err, messages(r.Result))
	}
}

// What cannot be is refused before anything is made.
func TestRunsThatCannotBe(t *testing.T) {
	s := newSite()
	for _, cfg := range []LiveConfig{{Clients: -1}, {Clients: 17}, {Ops: 101}, {Rounds: -1}, {Patience: -1}} {
		cfg.Open, cfg.Root = s.open, "/root"
		if _, err := RunLive(t.Context(), find(t, "lock"), cfg); err == nil {
			t.Errorf("%+v is taken", cfg)
		}
	}
}
