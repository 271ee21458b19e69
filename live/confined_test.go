package live

import (
	"context"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
	"github.com/zktorture/zktorture/workload/cluster"
)

// byUsers are workloads of our own recipes, made as users make theirs.
var byUsers = map[string]func() *workload.Workload{
	"lock": func() *workload.Workload {
		return workload.Lock(func(c recipes.Conn, path string) workload.Locker { return recipes.NewLock(c, path) })
	},
	"rwlock": func() *workload.Workload {
		return workload.RWLock(func(c recipes.Conn, path string) workload.RWLocker {
			return recipes.NewRWLock(c, path)
		})
	},
	"semaphore": func() *workload.Workload {
		return workload.Semaphore(2, func(c recipes.Conn, path string) workload.Permitter {
			return recipes.NewSemaphore(c, path, 2)
		})
	},
	"queue": func() *workload.Workload {
		return workload.Queue(func(c recipes.Conn, path string) workload.Queuer { return recipes.NewQueue(c, path) })
	},
	"priorityqueue": func() *workload.Workload {
		return workload.PriorityQueue(func(c recipes.Conn, path string) workload.PriorityQueuer {
			return recipes.NewPriorityQueue(c, path)
		})
	},
	"lockingqueue": func() *workload.Workload {
		return workload.LockingQueue(func(c recipes.Conn, path string) workload.LockingQueuer {
			return claiming{recipes.NewLockingQueue(c, path)}
		})
	},
	"election": func() *workload.Workload {
		return workload.Election(func(c recipes.Conn, path string) workload.Candidate {
			return recipes.NewCandidate(c, path)
		})
	},
	"membership": func() *workload.Workload {
		return workload.Membership(func(c recipes.Conn, path, name string) workload.Grouper {
			return recipes.NewGroup(c, path, name)
		})
	},
	"counter": func() *workload.Workload {
		return workload.Counter(func(c recipes.Conn, path string) workload.Adder { return recipes.NewCounter(c, path) })
	},
	"barrier": func() *workload.Workload {
		return workload.Barrier(func(c recipes.Conn, path string) workload.BarrierRecipe {
			return recipes.NewBarrier(c, path)
		})
	},
	"doublebarrier": func() *workload.Workload {
		return workload.DoubleBarrier(2,
			func(c recipes.Conn, path string) workload.Rendezvous { return recipes.NewDoubleBarrier(c, path, 2) })
	},
}

// claiming and committing are the recipes with the types that the workload has.
type claiming struct{ *recipes.LockingQueue }

func (q claiming) Claim(ctx context.Context) (workload.Claimed, error) {
	return orNone(q.LockingQueue.Claim(ctx))
}

func (q claiming) TryClaim(ctx context.Context) (workload.Claimed, error) {
	return orNone(q.LockingQueue.TryClaim(ctx))
}

func orNone(c *recipes.Claim, err error) (workload.Claimed, error) {
	if err != nil {
		return nil, err
	}
	return c, nil
}

// runOnSite runs a workload on a fake of real servers, with as little said as can be.
func runOnSite(t *testing.T, w *workload.Workload, rounds int) (out ran) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newSite()
		out.Result, out.err = Run(t.Context(), w, Config{Open: s.open, Root: "/root", Seed: 1, Rounds: rounds})
		if left := s.Dump("/root"); left != "" {
			t.Errorf("left:\n%s", left)
		}
		time.Sleep(time.Minute) // what was given up ends
	})
	return out
}

// Correct recipes pass on real servers however little is said of how to run them, though several rounds are under way
// at the same time: each has a path of its own.
func TestUsersRecipesOnRealServers(t *testing.T) {
	byUsers := maps.Clone(byUsers)
	for _, k := range cluster.Kinds {
		byUsers[k.Name] = k.Recipes[0].New
	}
	if kinds := workload.Kinds(); len(kinds) != len(byUsers) {
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
	workload.Locker
	stray func() error
}

func (l wayward) Lock(ctx context.Context) error {
	if err := l.stray(); err != nil {
		return err
	}
	return l.Locker.Lock(ctx)
}

// A recipe that does not use its path ends the run with an error that says so, without violations, and nothing is
// touched outside of the run's root.
func TestRecipesThatGoElsewhere(t *testing.T) {
	for asked, way := range map[string]func(c recipes.Conn, path string) workload.Locker{
		"of /app/lock": func(c recipes.Conn, _ string) workload.Locker { return recipes.NewLock(c, "/app/lock") },
		"delete of /root, ": func(c recipes.Conn, p string) workload.Locker {
			return wayward{recipes.NewLock(c, p), func() error { return c.Delete("/root", -1) }}
		},
		"set of /root/r": func(c recipes.Conn, p string) workload.Locker {
			return wayward{recipes.NewLock(c, p), func() error { _, err := c.Multi(writing("/root/rx")); return err }}
		},
	} {
		r := runOnSite(t, workload.Lock(way), 60)
		if len(r.Violations) > 0 || r.err == nil || !strings.Contains(r.err.Error(), asked) ||
			!strings.Contains(r.err.Error(), "the path that its constructor gets") {
			t.Errorf("%s: %v%s", asked, r.err, messages(r.Result))
		}
	}
}

// So does a recipe that closes the connection: the end of its session would be unknown.
func TestRecipesThatClose(t *testing.T) {
	r := runOnSite(t, workload.Lock(func(c recipes.Conn, p string) workload.Locker {
		return wayward{recipes.NewLock(c, p), func() error { c.Close(); return nil }}
	}), 30)
	if len(r.Violations) > 0 || r.err == nil || !strings.Contains(r.err.Error(), "the recipe closed its connection") {
		t.Errorf("%v%s", r.err, messages(r.Result))
	}
}

// What a recipe does above its path, to see that it is there, is harmless.
func TestRecipesThatLookUp(t *testing.T) {
	w := workload.Lock(func(c recipes.Conn, p string) workload.Locker {
		return wayward{recipes.NewLock(c, p), func() error { return lookUp(c, p) }}
	})
	if r := runOnSite(t, w, 30); r.err != nil || len(r.Violations) > 0 {
		t.Errorf("%v%s", r.err, messages(r.Result))
	}
}

// What cannot be is refused before anything is made.
func TestRunsThatCannotBe(t *testing.T) {
	s := newSite()
	for _, cfg := range []Config{{Clients: -1}, {Clients: 17}, {Ops: 101}, {Rounds: -1}, {Patience: -1}} {
		cfg.Open, cfg.Root = s.open, "/root"
		if _, err := Run(t.Context(), find(t, "lock"), cfg); err == nil {
			t.Errorf("%+v is taken", cfg)
		}
	}
}

// configured is a lock that needs a configuration.
type configured struct {
	workload.Locker
	conn recipes.Conn
	path string
}

func (c configured) Lock(ctx context.Context) error {
	if _, _, err := c.conn.Get(c.path); err != nil {
		return err
	}
	return c.Locker.Lock(ctx)
}

// What a recipe needs is set up for each round, and removed with it.
func TestSetUpOnRealServers(t *testing.T) {
	w := workload.Lock(func(c recipes.Conn, path string) workload.Locker {
		return configured{recipes.NewLock(c, path), c, path + "-config"}
	}, workload.SetUp(func(c recipes.Conn, path string) error {
		_, err := c.Create(path+"-config", nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
		return err
	}))
	if r := runOnSite(t, w, 30); r.err != nil || r.Verdict != sim.VerdictOK {
		t.Errorf("%s, %v%s", r.Verdict, r.err, messages(r.Result))
	}
}

// accusing is a kind of the user's own that finds the same wrong in every episode.
type accusing struct{ workload.Script[struct{}] }

func (e *accusing) Run(u workload.User) {
	_, op := u.Begin("nothing", "", false)
	u.End(op, world.OK, "", nil)
}

func (e *accusing) History(*workload.View) linearizability.History { return nil }

func (e *accusing) Judge(*workload.View) (j workload.Judgement) {
	j.Add(sim.Violation{Property: "wrong", Message: "as always"})
	return j
}

// What a recipe does not promise is no violation on real servers either, also if its kind's judge does not ask.
func TestWaivedOnRealServers(t *testing.T) {
	for _, waived := range []bool{false, true} {
		opts := []workload.Option{workload.Waive("another")}
		if waived {
			opts = append(opts, workload.Waive("wrong"))
		}
		w := workload.Own("accusing", func(p *world.Plan, path string) workload.Episode {
			return &accusing{workload.NewScript[struct{}](p, path)}
		}, opts...)
		if r := runOnSite(t, w, 3); r.err != nil || (r.Verdict == sim.VerdictOK) != waived {
			t.Errorf("waived %v: %s, %v%s", waived, r.Verdict, r.err, messages(r.Result))
		}
	}
}
