package worker

import (
	"context"

	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/workload"
)

// kinds are those whose recipes may be in other processes. A kind is registered by a line here; its two ends are below.
// A double barrier is none of them: it is not known of a process that died whether, and for how long, it was inside.
var kinds = []kind{
	{name: "lock", ends: between(newRemoteLock, lockOperations), all: true},
	{name: "rwlock", ends: between(newRemoteRWLock, rwOperations)},
	{name: "semaphore", ends: between(newRemoteSemaphore, semaphoreOperations)},
	{name: "queue", ends: between(newRemoteQueue, queueOperations)},
	{name: "election", ends: between(newRemoteCandidate, electionOperations)},
	{name: "counter", ends: between(newRemoteCounter, counterOperations)},
	{name: "barrier", ends: between(newRemoteBarrier, barrierOperations)},
}

type kind struct {
	name string
	ends
	all bool // every recipe of the project's may be in other processes, not only the default
}

// ends are the runner's end and the worker's: what stands for a recipe in another process, and what that process does
// by the recipe, which is false for what is no recipe of the kind.
type ends struct {
	reach func(h *handle) any
	serve func(recipe any) (Served, bool)
}

func between[T any](reach func(h *handle) T, serve func(recipe T) Served) ends {
	return ends{func(h *handle) any { return reach(h) }, func(recipe any) (Served, bool) {
		of, is := recipe.(T)
		if !is {
			return nil, false
		}
		return serve(of), true
	}}
}

type remoteLock struct{ *handle }

func (l remoteLock) Lock(ctx context.Context) error   { return l.take(ctx, "acquire") }
func (l remoteLock) Unlock(ctx context.Context) error { return l.giveBack(ctx, "release") }

// remoteTryLock is a lock that can also be tried.
type remoteTryLock struct{ remoteLock }

func (l remoteTryLock) TryLock(ctx context.Context) (bool, error) { return l.acquire(ctx, "try") }

func newRemoteLock(h *handle) workload.Locker {
	lock := remoteLock{h}
	if h.conn.remote.Can("try") {
		return remoteTryLock{lock}
	}
	return lock
}

func lockOperations(l workload.Locker) Served {
	o := Served{"acquire": granting(l, l.Lock), "release": plain(l.Unlock)}
	if t, can := l.(interface {
		TryLock(context.Context) (bool, error)
	}); can {
		o["try"] = trying(l, t.TryLock)
	}
	return o.withOwner(l)
}

type remoteRWLock struct{ remoteLock }

func (l remoteRWLock) RLock(ctx context.Context) error   { return l.take(ctx, "racquire") }
func (l remoteRWLock) RUnlock(ctx context.Context) error { return l.giveBack(ctx, "rrelease") }

type remoteTryRWLock struct{ remoteRWLock }

func (l remoteTryRWLock) TryLock(ctx context.Context) (bool, error)  { return l.acquire(ctx, "try") }
func (l remoteTryRWLock) TryRLock(ctx context.Context) (bool, error) { return l.acquire(ctx, "rtry") }

func newRemoteRWLock(h *handle) workload.RWLocker {
	lock := remoteRWLock{remoteLock{h}}
	if h.conn.remote.Can("try") && h.conn.remote.Can("rtry") {
		return remoteTryRWLock{lock}
	}
	return lock
}

func rwOperations(l workload.RWLocker) Served {
	o := Served{
		"acquire": granting(l, l.Lock), "release": plain(l.Unlock),
		"racquire": granting(l, l.RLock), "rrelease": plain(l.RUnlock),
	}
	if t, can := l.(interface {
		TryLock(context.Context) (bool, error)
	}); can {
		o["try"] = trying(l, t.TryLock)
	}
	if t, can := l.(interface {
		TryRLock(context.Context) (bool, error)
	}); can {
		o["rtry"] = trying(l, t.TryRLock)
	}
	return o.withOwner(l)
}

type remoteSemaphore struct{ *handle }

func (s remoteSemaphore) Acquire(ctx context.Context) error { return s.take(ctx, "acquire") }
func (s remoteSemaphore) Release(ctx context.Context) error { return s.giveBack(ctx, "release") }

type remoteTrySemaphore struct{ remoteSemaphore }

func (s remoteTrySemaphore) TryAcquire(ctx context.Context) (bool, error) {
	return s.acquire(ctx, "try")
}

func newRemoteSemaphore(h *handle) workload.Permitter {
	semaphore := remoteSemaphore{h}
	if h.conn.remote.Can("try") {
		return remoteTrySemaphore{semaphore}
	}
	return semaphore
}

func semaphoreOperations(s workload.Permitter) Served {
	o := Served{"acquire": granting(s, s.Acquire), "release": plain(s.Release)}
	if t, can := s.(interface {
		TryAcquire(context.Context) (bool, error)
	}); can {
		o["try"] = trying(s, t.TryAcquire)
	}
	return o.withOwner(s)
}

type remoteQueue struct{ *handle }

func (q remoteQueue) Offer(ctx context.Context, data []byte) error {
	_, err := q.call(ctx, "offer", linearizability.Str(string(data)), 0)
	return err
}

func (q remoteQueue) Poll(ctx context.Context) ([]byte, error) { return q.remove(ctx, "poll") }

type remoteTake struct{ *handle }

func (q remoteTake) Take(ctx context.Context) ([]byte, error) { return q.remove(ctx, "take") }

type remotePeek struct{ *handle }

func (q remotePeek) Peek(ctx context.Context) ([]byte, error) { return q.remove(ctx, "peek") }

// newRemoteQueue has the operations that the recipe has.
func newRemoteQueue(h *handle) workload.Queuer {
	queue, take, peek := remoteQueue{h}, remoteTake{h}, remotePeek{h}
	switch can := h.conn.remote.Can; {
	case can("take") && can("peek"):
		return struct {
			remoteQueue
			remoteTake
			remotePeek
		}{queue, take, peek}
	case can("take"):
		return struct {
			remoteQueue
			remoteTake
		}{queue, take}
	case can("peek"):
		return struct {
			remoteQueue
			remotePeek
		}{queue, peek}
	}
	return queue
}

func queueOperations(q workload.Queuer) Served {
	offer := func(ctx context.Context, item linearizability.Value) (linearizability.Value, error) {
		return linearizability.Null, q.Offer(ctx, []byte(item.String()))
	}
	o := Served{"offer": offer, "poll": removing(q.Poll)}
	if t, can := q.(interface {
		Take(context.Context) ([]byte, error)
	}); can {
		o["take"] = removing(t.Take)
	}
	if p, can := q.(interface {
		Peek(context.Context) ([]byte, error)
	}); can {
		o["peek"] = removing(p.Peek)
	}
	return o
}

type remoteCandidate struct{ *handle }

func (c remoteCandidate) Campaign(ctx context.Context) error { return c.take(ctx, "elected") }
func (c remoteCandidate) Resign(ctx context.Context) error   { return c.giveBack(ctx, "resigned") }

func newRemoteCandidate(h *handle) workload.Candidate { return remoteCandidate{h} }

func electionOperations(c workload.Candidate) Served {
	return Served{"elected": granting(c, c.Campaign), "resigned": plain(c.Resign)}.withOwner(c)
}

type remoteCounter struct{ *handle }

func (c remoteCounter) Add(ctx context.Context, delta int64) (int64, error) {
	answer, err := c.call(ctx, "add", linearizability.Int(delta), 0)
	return answer.Result.Int(), err
}

func (c remoteCounter) Get(ctx context.Context) (int64, error) {
	answer, err := c.call(ctx, "get", linearizability.Null, 0)
	return answer.Result.Int(), err
}

func newRemoteCounter(h *handle) workload.Adder { return remoteCounter{h} }

func counterOperations(c workload.Adder) Served {
	return Served{
		"add": func(ctx context.Context, delta linearizability.Value) (linearizability.Value, error) {
			sum, err := c.Add(ctx, delta.Int())
			if err != nil {
				return number(suspect(err)), err
			}
			return linearizability.Int(sum), nil
		},
		"get": func(ctx context.Context, _ linearizability.Value) (linearizability.Value, error) {
			n, err := c.Get(ctx)
			return linearizability.Int(n), err
		},
	}
}

type remoteBarrier struct{ *handle }

func (g remoteBarrier) Shut(ctx context.Context) error { return g.do(ctx, "shut") }
func (g remoteBarrier) Open(ctx context.Context) error { return g.do(ctx, "open") }
func (g remoteBarrier) Wait(ctx context.Context) error { return g.do(ctx, "wait") }

func newRemoteBarrier(h *handle) workload.BarrierRecipe { return remoteBarrier{h} }

func barrierOperations(g workload.BarrierRecipe) Served {
	return Served{"shut": plain(g.Shut), "open": plain(g.Open), "wait": plain(g.Wait)}
}
