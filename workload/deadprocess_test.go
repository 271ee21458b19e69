package workload_test

import (
	"context"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// actor is a lock whose one goroutine does all requests, while its callers wait for the answer.
type actor struct {
	lock *recipes.Lock
	asks chan func()
}

func newActor(c recipes.Conn, path string) workload.Locker {
	a := &actor{recipes.NewLock(c, path), make(chan func())}
	go func() {
		for do := range a.asks {
			do()
		}
	}()
	return a
}

func (a *actor) ask(do func(context.Context) error, ctx context.Context) error {
	answer := make(chan error)
	a.asks <- func() { answer <- do(ctx) }
	return <-answer
}

func (a *actor) Lock(ctx context.Context) error   { return a.ask(a.lock.Lock, ctx) }
func (a *actor) Unlock(ctx context.Context) error { return a.ask(a.lock.Unlock, ctx) }
func (a *actor) Lost() <-chan struct{}            { return a.lock.Lost() }
func (a *actor) Close()                           { close(a.asks) }

// future is a lock that reads by itself before, and gets the result by a channel.
type future struct {
	lock *recipes.Lock
	conn recipes.Conn
	path string
}

func (f future) Lock(ctx context.Context) error {
	read := make(chan error)
	go func() {
		_, _, err := f.conn.Exists(f.path)
		read <- err
	}()
	if err := <-read; err != nil {
		return err
	}
	return f.lock.Lock(ctx)
}

func (f future) Unlock(ctx context.Context) error { return f.lock.Unlock(ctx) }
func (f future) Lost() <-chan struct{}            { return f.lock.Lost() }

// visible is a lock that notes each hold in a znode of its own, for people.
type visible struct {
	lock *recipes.Lock
	conn recipes.Conn
	dir  string
	note string
}

func (v *visible) Lock(ctx context.Context) (err error) {
	if err = v.lock.Lock(ctx); err == nil {
		v.note, err = v.conn.Create(v.dir+"/hold-", nil, zk.FlagSequence, openACL)
	}
	return err
}

func (v *visible) Unlock(ctx context.Context) error {
	if err := v.conn.Delete(v.note, -1); err != nil {
		return err
	}
	return v.lock.Unlock(ctx)
}

// What a process that has died would have removed is no leak.
func TestZnodesOfADeadProcess(t *testing.T) {
	accusesNot(t, workload.Lock(func(c recipes.Conn, path string) workload.Locker {
		return &visible{lock: recipes.NewLock(c, path), conn: c, dir: path + "-holds"}
	}, workload.Beside("-holds")), world.Crash)
}

// Goroutines of a process that has died are no leak, whatever they wait for, and they do not stay.
func TestGoroutinesOfADeadProcess(t *testing.T) {
	for name, w := range map[string]*workload.Workload{
		"actor":  workload.Lock(newActor, workload.Closing()),
		"future": workload.Lock(func(c recipes.Conn, path string) workload.Locker { return future{recipes.NewLock(c, path), c, path} }),
	} {
		r := campaign(t, w, sim.Config{Episodes: 400, Seed: 1, Faults: world.Crash | world.Loss, NoFaultsAtAll: true})
		if r.Verdict != sim.VerdictOK || r.Left > 0 {
			t.Errorf("%s: %s (%s), %d episodes left goroutines behind: %v", name, r.Verdict, r.Reason, r.Left, r.Violations)
		}
	}
}

// stuck is a lock whose Close waits for what never comes.
type stuck struct{ workload.Locker }

func (stuck) Close() { select {} }

// A Close that does not return is told as that.
func TestCloseHangs(t *testing.T) {
	wantBroken(t, workload.Lock(func(c recipes.Conn, path string) workload.Locker {
		return stuck{recipes.NewLock(c, path)}
	}, workload.Closing()), world.NoFaults, "hang", "c1's Close has not returned")
}
