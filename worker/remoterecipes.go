package worker

import (
	"context"

	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/workload"
)

// handle is a user's access to an object of another process's, and what it holds there.
type handle struct {
	conn         *remoteConn
	path         string
	incarnation  int // number of the process that holds what was acquired last
	expiriesSeen int // how many sessions were over by then
	token        int64
}

func (h *handle) call(ctx context.Context, op string, arg linearizability.Value, life int) (Answer, error) {
	answer, err := h.conn.remote.Do(ctx, Call{User: h.conn.user, Path: h.path, Op: op, Arg: arg, Incarnation: life})
	h.conn.session = answer.Session
	return answer, err
}

// do carries out an operation that has neither argument nor result.
func (h *handle) do(ctx context.Context, op string) error {
	_, err := h.call(ctx, op, linearizability.Null, 0)
	return err
}

// acquire carries out an operation that gets hold of something. The result is a token, or whether it did, or nothing.
func (h *handle) acquire(ctx context.Context, op string) (bool, error) {
	told := h.conn.remote.ExpiriesSeen()
	answer, err := h.call(ctx, op, linearizability.Null, 0)
	if err != nil || answer.Result == linearizability.Bool(false) {
		return false, err
	}
	h.incarnation, h.expiriesSeen, h.token = answer.Incarnation, told, answer.Result.Int()
	return true, nil
}

func (h *handle) take(ctx context.Context, op string) error {
	_, err := h.acquire(ctx, op)
	return err
}

// giveBack ends what the handle holds. If the process that held it is no more, it was lost with it.
func (h *handle) giveBack(ctx context.Context, op string) error {
	_, err := h.call(ctx, op, linearizability.Null, h.incarnation)
	return err
}

// Token is 0 if the recipe has none.
func (h *handle) Token() int64 { return h.token }

// IsOwner asks the recipe, if it can tell. A user of one that cannot looks after its session itself.
func (h *handle) IsOwner() bool {
	if !h.conn.remote.Can("owner") {
		return h.conn.remote.ExpiriesSeen() == h.expiriesSeen
	}
	// A user asks between its operations, and waits as long as the process sleeps.
	ask := Call{User: h.conn.user, Path: h.path, Op: "owner", Incarnation: h.incarnation}
	answer, err := h.conn.remote.Do(context.Background(), ask)
	return err == nil && answer.Result == linearizability.Bool(true)
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

type remoteCandidate struct{ *handle }

func (c remoteCandidate) Campaign(ctx context.Context) error { return c.take(ctx, "elected") }
func (c remoteCandidate) Resign(ctx context.Context) error   { return c.giveBack(ctx, "resigned") }

func newRemoteCandidate(h *handle) workload.Candidate { return remoteCandidate{h} }

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

type remoteQueue struct{ *handle }

func (q remoteQueue) Offer(ctx context.Context, data []byte) error {
	_, err := q.call(ctx, "offer", linearizability.Str(string(data)), 0)
	return err
}

func (q remoteQueue) Poll(ctx context.Context) ([]byte, error) { return q.remove(ctx, "poll") }

// remove carries out an operation that returns an item, or says that there is none.
func (h *handle) remove(ctx context.Context, op string) ([]byte, error) {
	answer, err := h.call(ctx, op, linearizability.Null, 0)
	switch {
	case err != nil:
		return nil, err
	case answer.Result.IsNull():
		return nil, workload.ErrEmpty
	}
	return []byte(answer.Result.String()), nil
}

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

type remoteBarrier struct{ *handle }

func (g remoteBarrier) Shut(ctx context.Context) error { return g.do(ctx, "shut") }
func (g remoteBarrier) Open(ctx context.Context) error { return g.do(ctx, "open") }
func (g remoteBarrier) Wait(ctx context.Context) error { return g.do(ctx, "wait") }

func newRemoteBarrier(h *handle) workload.BarrierRecipe { return remoteBarrier{h} }
