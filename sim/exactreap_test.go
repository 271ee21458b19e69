//go:build zktexact

package sim_test

import (
	"context"
	"net"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// life is one of a process.
type life struct {
	over     atomic.Bool // another has begun
	late     atomic.Int64
	deferred atomic.Int64
	latest   atomic.Int64 // nanosecond of the world's clock at which one of its goroutines ran
}

// waits are the ways in which the goroutines of a life wait a moment.
func (l *life) waits() map[string]func() {
	moment := 100 * time.Millisecond
	tick := time.NewTicker(moment).C
	never, both := make(chan int), make(chan int)
	var holder, other sync.Mutex
	cond := sync.NewCond(&other)
	return map[string]func(){
		"ticker": func() { <-tick },
		"sleep":  func() { time.Sleep(moment) },
		"timer":  func() { c := make(chan int, 1); time.AfterFunc(moment, func() { l.runs(); c <- 1 }); <-c },
		"select": func() {
			select {
			case <-never:
			case never <- 1:
			case <-time.After(moment):
			}
		},
		"send":    func() { both <- 1 },
		"receive": func() { time.Sleep(moment); <-both },
		"cond":    func() { time.AfterFunc(moment, cond.Broadcast); other.Lock(); defer other.Unlock(); cond.Wait() },
		"group":   func() { var g sync.WaitGroup; g.Go(func() { time.Sleep(moment) }); g.Wait() },
		"mutex":   func() { holder.Lock(); defer holder.Unlock(); time.Sleep(moment) },
		"next":    func() { time.Sleep(moment / 2); holder.Lock(); holder.Unlock() },
		"never":   func() { select {} },
	}
}

func (l *life) runs() {
	l.latest.Store(time.Now().UnixNano())
	if l.over.Load() {
		l.late.Add(1)
	}
}

// begin starts a goroutine for each way to wait, with a buffer as large as a client's.
func (l *life) begin() {
	for _, wait := range l.waits() {
		go func() {
			buffer := make([]byte, 1<<20)
			defer func() { l.deferred.Add(int64(len(buffer))) }()
			for {
				wait()
				l.runs()
			}
		}()
	}
}

// A crash stops all that a process does, wherever its goroutines wait: none of them runs any more, not even deferred functions.
func TestExactCrashStopsAll(t *testing.T) {
	var lives []*life
	var shared *zk.Conn
	begin := func() {
		for _, l := range lives {
			l.over.Store(true)
		}
		lives = append(lives, &life{})
		lives[len(lives)-1].begin()
	}
	for name, w := range map[string]sim.Workload{
		"plain": workload.Of(workload.Lock, func(s workload.Servers, path string) workload.Locker {
			begin()
			return newPlainLock()(s, path)
		}),
		"shared": workload.Of(workload.Lock, func(c *zk.Conn, path string) workload.Locker {
			if c != shared { // else it is another user's
				shared = c
				begin()
			}
			return newZKLock(c, path)
		}),
	} {
		crashes := 0
		for seed := range uint64(40) {
			lives = nil
			cfg := sim.Config{Clients: 1, Faults: world.Crash}
			o := sim.RunOne(w, cfg, sim.NewRandomSource(seed, 1))
			for i, l := range lives {
				if l.late.Load() > 0 || l.deferred.Load() > 0 {
					t.Fatalf("%s, seed %d: goroutines of life %d of %d ran %d times after it, and %d bytes were deferred", name, seed, i,
						len(lives), l.late.Load(), l.deferred.Load())
				}
			}
			crashes += len(lives) - 1
			lives = nil
			if again := sim.RunOne(w, cfg, o.Choices.Replay()); again.Hash != o.Hash {
				t.Fatalf("%s, seed %d: equal choices gave another run", name, seed)
			}
		}
		if crashes < 10 {
			t.Errorf("%s: only %d crashes", name, crashes)
		}
	}
}

// After an episode nothing of code is left that connects by itself, or whose process has crashed.
func TestExactNothingIsLeft(t *testing.T) {
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc >> 20)
	}
	for name, w := range map[string]sim.Workload{
		"plain": workload.Of(workload.Lock, func(s workload.Servers, path string) workload.Locker {
			new(life).begin()
			return newPlainLock()(s, path)
		}),
		"process": workload.Lock(func(c recipes.Conn, path string) workload.Locker {
			new(life).begin()
			return recipes.NewLock(c, path)
		}),
	} {
		cfg := sim.Config{Episodes: 1, Seed: 1, NoShrink: true}
		run(t, w, cfg)
		goroutines, before := runtime.NumGoroutine(), heap()
		cfg.Episodes = 20
		r := run(t, w, cfg)
		testkit.Until(t, name+": no more goroutines than before", func() bool { return runtime.NumGoroutine() <= goroutines })
		if grown := heap() - before; grown > 40 || r.Left > 0 {
			t.Errorf("%s: the heap has grown by %d MB; %d episodes left something at %s", name, grown, r.Left, r.LeftAt)
		}
	}
}

// Code that connects by itself does not go on long after its episode.
func TestExactEndsWithItsEpisode(t *testing.T) {
	var code *life
	var returned time.Time
	w := workload.Of(workload.Lock, func(s workload.Servers, path string) workload.Locker {
		lock := newPlainLock()(s, path)
		code = &life{}
		code.begin()
		return methods{lock.Lock, func(ctx context.Context) error {
			defer func() { returned = time.Now() }()
			return lock.Unlock(ctx)
		}}
	})
	for seed := range uint64(10) {
		sim.RunOne(w, sim.Config{Clients: 1, NoFaultsAtAll: true}, sim.NewRandomSource(seed, 1))
		if after := time.Unix(0, code.latest.Load()).Sub(returned); after < 0 || after > 40*time.Second {
			t.Errorf("seed %d: it went on for %v of the world's clock", seed, after)
		}
	}
}

// What context.AfterFunc calls is the code of who has asked for it: it dials, and it exits.
func TestExactAfterFunc(t *testing.T) {
	var dialled atomic.Int64
	after := func(do func(s workload.Servers)) sim.Workload {
		return workload.Of(workload.Lock, func(s workload.Servers, path string) workload.Locker {
			lock := newPlainLock()(s, path)
			return methods{func(ctx context.Context) error {
				child, cancel := context.WithCancel(ctx)
				defer cancel()
				defer context.AfterFunc(child, func() { do(s) })()
				return lock.Lock(ctx)
			}, lock.Unlock}
		})
	}
	cfg := sim.Config{Episodes: 100, Seed: 1, Faults: world.Cancel, NoShrink: true}
	r := run(t, after(func(s workload.Servers) {
		if conn, err := net.Dial("tcp", s.Addresses[0]); err == nil {
			dialled.Add(1)
			conn.Close()
		}
	}), cfg)
	if dialled.Load() == 0 || r.Barred != nil {
		t.Errorf("it dialled %d times, and %q is barred", dialled.Load(), r.Barred)
	}
	exited := 0
	for seed := range uint64(60) {
		o := sim.RunOne(after(func(workload.Servers) { os.Exit(3) }), cfg, sim.NewRandomSource(seed, 1))
		exited += len(exits(o.Trace))
	}
	if exited < 5 {
		t.Errorf("it exited %d times", exited)
	}
}
