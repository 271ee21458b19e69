//go:build zktexact

package sim_test

import (
	"context"
	"log"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// process is what the users of one *zk.Conn have in common.
type process struct {
	conn *zk.Conn
	path string
	lock workload.Locker
	mu   sync.Mutex
	rw   sync.RWMutex
	once sync.Once
	two  [2]sync.Mutex
	user int // how many there are
}

var processes sync.Map

func processOf(c *zk.Conn, path string) *process {
	p, _ := processes.LoadOrStore(c, &process{conn: c, path: path, lock: recipes.NewLock(c, path)})
	return p.(*process)
}

// methods is a lock.
type methods struct{ lock, unlock func(context.Context) error }

func (m methods) Lock(ctx context.Context) error   { return m.lock(ctx) }
func (m methods) Unlock(ctx context.Context) error { return m.unlock(ctx) }

// inProcess is a lock, and a mutex that is held as long as that.
func inProcess(mu func(*process) sync.Locker) sim.Workload {
	return workload.Of(workload.Lock, func(c *zk.Conn, path string) workload.Locker {
		p, held := processOf(c, path), false
		return methods{func(ctx context.Context) error {
			mu(p).Lock()
			err := p.lock.Lock(ctx)
			if held = err == nil; !held {
				mu(p).Unlock()
			}
			return err
		}, func(ctx context.Context) error {
			if !held {
				return recipes.ErrNotHeld
			}
			held = false
			defer mu(p).Unlock()
			return p.lock.Unlock(ctx)
		}}
	})
}

// ofAll is a mutex that processes share, which are none then.
var ofAll sync.Mutex

func mutexLock() sim.Workload { return inProcess(func(p *process) sync.Locker { return &p.mu }) }

func packageMutexLock() sim.Workload { return inProcess(func(*process) sync.Locker { return &ofAll }) }

// rwMutexLock asks ZooKeeper under an RWMutex.
func rwMutexLock() sim.Workload {
	return workload.Of(workload.Lock, func(c *zk.Conn, path string) workload.Locker {
		p, own := processOf(c, path), recipes.NewLock(c, path)
		return methods{func(ctx context.Context) error {
			p.rw.RLock()
			if p.rw.TryRLock() {
				c.Exists(path)
				p.rw.RUnlock()
			}
			c.Exists(path)
			p.rw.RUnlock()
			return own.Lock(ctx)
		}, func(ctx context.Context) error {
			if p.rw.TryLock() {
				c.Exists(path)
				p.rw.Unlock()
			}
			p.rw.Lock()
			defer p.rw.Unlock()
			return own.Unlock(ctx)
		}}
	})
}

// onceLock makes a znode once in a process.
func onceLock() sim.Workload {
	return workload.Of(workload.Lock, func(c *zk.Conn, path string) workload.Locker {
		p, own := processOf(c, path), recipes.NewLock(c, path)
		return methods{func(ctx context.Context) error {
			p.once.Do(func() { c.Create(path+"-once", nil, 0, zk.WorldACL(zk.PermAll)) })
			return own.Lock(ctx)
		}, own.Unlock}
	})
}

// oppositeLock locks two mutexes, every other user the second one first.
func oppositeLock() sim.Workload {
	return workload.Of(workload.Lock, func(c *zk.Conn, path string) workload.Locker {
		p, own := processOf(c, path), recipes.NewLock(c, path)
		p.mu.Lock()
		defer p.mu.Unlock()
		first := p.user % 2
		p.user++
		return methods{func(ctx context.Context) error {
			p.two[first].Lock()
			defer p.two[first].Unlock()
			c.Exists(path)
			p.two[1-first].Lock()
			defer p.two[1-first].Unlock()
			return own.Lock(ctx)
		}, own.Unlock}
	})
}

// loggingLock logs, by a writer that takes its time.
func loggingLock() sim.Workload {
	return workload.Lock(func(c recipes.Conn, path string) workload.Locker {
		own := recipes.NewLock(c, path)
		return methods{func(ctx context.Context) error {
			go func() { shared.Print("a goroutine of the world") }()
			shared.Print("locks")
			return own.Lock(ctx)
		}, func(ctx context.Context) error {
			shared.Print("unlocks")
			return own.Unlock(ctx)
		}}
	})
}

var shared = log.New(sleepy{}, "", 0)

// sleepy sleeps by the caller's clock.
type sleepy struct{}

func (sleepy) Write(b []byte) (int, error) {
	time.Sleep(100 * time.Microsecond)
	return len(b), nil
}

// Time passes while a goroutine waits for a mutex, and the recipes are correct: also those in which users go on together when
// one lets another have a mutex.
func TestExactMutexesAcrossCalls(t *testing.T) {
	for name, w := range map[string]sim.Workload{
		"mutex": mutexLock(), "package": packageMutexLock(), "rwmutex": rwMutexLock(), "once": onceLock(),
	} {
		r := run(t, w, sim.Config{Episodes: 200, Seed: 1, NoFaultsAtAll: true})
		if r.Verdict != sim.VerdictOK || r.Rerun.Episodes != 200 || r.Rerun.Differed != 0 {
			t.Errorf("%s: %s %s, rerun %+v: want 200 equal", name, r.Verdict, r.Reason, r.Rerun)
		}
		for _, v := range r.Violations {
			t.Errorf("%s: %s", name, v.Message)
		}
	}
}

// A deadlock is told with the lines at which mutexes are waited for, and with who holds them.
func TestExactDeadlockIsTold(t *testing.T) {
	r := run(t, oppositeLock(), sim.Config{Episodes: 50, Seed: 1, NoFaultsAtAll: true})
	if len(r.Violations) != 1 || r.Violations[0].Property != "progress" {
		t.Fatalf("%s %s: %+v", r.Verdict, r.Reason, r.Violations)
	}
	const want = ": it waits in sync.Mutex.Lock at sim/exactmutex_test.go:LINE, held by c1 (user 2), " +
		"which waits in sync.Mutex.Lock at sim/exactmutex_test.go:LINE, held by c1;"
	if got := lineNumber.ReplaceAllString(r.Violations[0].Message, ":LINE"); !strings.Contains(got, want) {
		t.Errorf("%q is not in %q", want, got)
	}
}

// Nobody is accused of waiting for a mutex that only a simulated world lets processes share.
func TestExactSharedMutexIsTold(t *testing.T) {
	r := run(t, packageMutexLock(), sim.Config{Episodes: 1000, Seed: 1, Faults: world.Crash})
	if r.Verdict != sim.VerdictUnknown || len(r.Violations) > 0 || !sharedMutex.MatchString(r.Reason) {
		t.Errorf("%s %q %+v: want unknown, for %v", r.Verdict, r.Reason, r.Violations, sharedMutex)
	}
}

var sharedMutex = regexp.MustCompile(`share package variables: c\d waits in sync.Mutex.Lock at sim/exactmutex_test.go:\d+, ` +
	`held by c\d( \(user \d\))? before its crash\.`)

var lineNumber = regexp.MustCompile(`:\d+\b`)

// Goroutines outside of a world that use its mutexes change nothing, also while it holds them across its time.
func TestExactMutexesSharedWithOutside(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	hashes := func() (all []uint64) {
		hash, w := sim.NewHasher(), loggingLock()
		for seed := range uint64(100) {
			all = append(all, hash(w, sim.Config{}, sim.NewRandomSource(seed, 1)))
		}
		return all
	}
	want := hashes()
	for _, pause := range []time.Duration{0, 100 * time.Microsecond} {
		stop := logOutside(pause)
		for n := 1; n <= 2; n++ {
			runtime.GOMAXPROCS(n)
			if !slices.Equal(hashes(), want) {
				t.Errorf("other runs with %d processors while others log every %v", n, pause)
			}
		}
		stop()
	}
}

// logOutside lets two goroutines log until stop is called.
func logOutside(pause time.Duration) (stop func()) {
	var done atomic.Bool
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			for !done.Load() {
				shared.Print("outside")
				time.Sleep(pause)
			}
		})
	}
	return func() { done.Store(true); both.Wait() }
}
