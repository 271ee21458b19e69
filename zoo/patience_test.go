package zoo_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// poll tries again and again until try succeeds.
func poll(ctx context.Context, every time.Duration, try func(context.Context) (bool, error)) error {
	for {
		if got, err := try(ctx); got || err != nil {
			return err
		}
		timer := time.NewTimer(every)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}

// Recipes that do not wait but ask again after a time.
type polledLock struct {
	*ourLock
	every time.Duration
}

type ourLock = recipes.Lock

func (l polledLock) Lock(ctx context.Context) error { return poll(ctx, l.every, l.ourLock.TryLock) }

type polledPermits struct {
	*recipes.Semaphore
	every time.Duration
}

func (s polledPermits) Acquire(ctx context.Context) error { return poll(ctx, s.every, s.TryAcquire) }

type polledOffice struct {
	*recipes.Lock
	every time.Duration
}

func (c polledOffice) Campaign(ctx context.Context) error { return poll(ctx, c.every, c.TryLock) }
func (c polledOffice) Resign(ctx context.Context) error   { return c.Unlock(ctx) }

type polledQueue struct {
	*recipes.LockingQueue
	every time.Duration
}

func (q polledQueue) Claim(ctx context.Context) (claim workload.Claimed, err error) {
	err = poll(ctx, q.every, func(ctx context.Context) (bool, error) {
		c, err := q.LockingQueue.TryClaim(ctx)
		if errors.Is(err, recipes.ErrEmpty) {
			return false, nil
		}
		claim = c
		return err == nil, err
	})
	return claim, err
}

func (q polledQueue) TryClaim() {} // another method than the workload's

// polled are the workloads of recipes that ask again after a time.
func polled(every time.Duration) map[string]*workload.Workload {
	return map[string]*workload.Workload{
		"lock": workload.Lock(func(c recipes.Conn, path string) workload.Locker {
			return polledLock{recipes.NewLock(c, path), every}
		}, workload.Unfair()),
		"semaphore": workload.Semaphore(2, func(c recipes.Conn, path string) workload.Permitter {
			return polledPermits{recipes.NewSemaphore(c, path, 2), every}
		}, workload.Unfair()),
		"election": workload.Election(func(c recipes.Conn, path string) workload.Candidate {
			return polledOffice{recipes.NewLock(c, path), every}
		}, workload.Unfair()),
		"rwlock": workload.RWLock(func(c recipes.Conn, path string) workload.RWLocker {
			return polledRW{recipes.NewRWLock(c, path), every}
		}, workload.Unfair()),
		"lockingqueue": workload.LockingQueue(func(c recipes.Conn, path string) workload.LockingQueuer {
			return polledQueue{recipes.NewLockingQueue(c, path), every}
		}),
	}
}

type polledRW struct {
	*recipes.RWLock
	every time.Duration
}

func (l polledRW) Lock(ctx context.Context) error  { return poll(ctx, l.every, l.TryLock) }
func (l polledRW) RLock(ctx context.Context) error { return poll(ctx, l.every, l.TryRLock) }

// What is free must not be so for a minute while somebody waits; half a minute is in order.
func TestFreeAndWanted(t *testing.T) {
	for kind, w := range polled(time.Minute) {
		t.Run(kind, func(t *testing.T) { wantBroken(t, w, world.NoFaults, "idle", ", and no fault is in effect for") })
	}
	for kind, w := range polled(25 * time.Second) {
		t.Run(kind, func(t *testing.T) { wantClean(t, w, world.NoFaults) })
	}
}

// patientTries is a lock whose tries wait for others.
type patientTries struct{ *ourLock }

func (l patientTries) TryLock(ctx context.Context) (bool, error) {
	err := poll(ctx, 100*time.Millisecond, l.ourLock.TryLock)
	return err == nil, err
}

func TestTriesThatWait(t *testing.T) {
	patient := func(opts ...workload.Option) *workload.Workload {
		return workload.Lock(func(c recipes.Conn, path string) workload.Locker {
			return patientTries{recipes.NewLock(c, path)}
		}, opts...)
	}
	wantBroken(t, patient(), world.NoFaults, "try-waits", "tries in try from step ")
	wantClean(t, patient(workload.Waive("try-waits")), world.NoFaults)
}

// A version of a znode that a recipe makes is near its end when it is first set, in an episode in which versions are, unless it
// is set by its version; one of an ephemeral znode is not.
func TestVersionsOfNewZnodes(t *testing.T) {
	var large, small, ephemeral atomic.Bool
	w := workload.Lock(func(c recipes.Conn, path string) workload.Locker {
		return &setting{conn: c, dir: path, large: &large, small: &small, ephemeral: &ephemeral}
	}, workload.Waive("exclusion", "exclusion-in-session", "leak"))
	campaign(t, w, sim.Config{Episodes: 300, Seed: 1, Faults: world.Wrap, NoFaultsAtAll: true, NoShrink: true})
	if !large.Load() || small.Load() || ephemeral.Load() {
		t.Errorf("set by any version: near the end: %v; by its version: %v; ephemeral: %v", large.Load(), small.Load(), ephemeral.Load())
	}
}

// setting makes znodes and sets them; it excludes nobody.
type setting struct {
	conn                    recipes.Conn
	dir                     string
	large, small, ephemeral *atomic.Bool // whether a version was ever large
}

func (s *setting) Lock(context.Context) error {
	s.conn.Create(s.dir, nil, 0, zk.WorldACL(zk.PermAll))
	for _, z := range []struct {
		flags, version int32
		large          *atomic.Bool
	}{{0, -1, s.large}, {0, 0, s.small}, {zk.FlagEphemeral, -1, s.ephemeral}} {
		path, err := s.conn.Create(s.dir+"/"+recipes.NewGUID(s.conn), nil, z.flags, zk.WorldACL(zk.PermAll))
		if err != nil {
			return err
		}
		stat, err := s.conn.Set(path, nil, z.version)
		if err != nil {
			return err
		}
		if stat.Version > 1 || stat.Version < 0 {
			z.large.Store(true)
		}
		if err := s.conn.Delete(path, -1); err != nil {
			return err
		}
	}
	return nil
}

func (s *setting) Unlock(context.Context) error { return nil }
