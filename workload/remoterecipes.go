package workload

import (
	"context"

	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
)

// RemotePermits is how many permits a semaphore in another process is told to have.
const RemotePermits = 2

func planRemoteCounter(p *sim.Plan, path string) Episode {
	return unmade{planCounter(p, path, func(c recipes.Conn, path string) Adder { return remoteCounter{newHandle(c, path)} })}
}

func planRemoteQueue(p *sim.Plan, path string) Episode {
	return planQueue(p, path, func(c recipes.Conn) queueClient { return newRemoteQueue(newHandle(c, path)) })
}

func planRemoteBarrier(p *sim.Plan, path string) Episode {
	return planBarrier(p, path, func(c recipes.Conn, path string) BarrierRecipe { return remoteBarrier{newHandle(c, path)} })
}

// unmade is an episode of a counter whose recipe makes the znode itself. One that go-zookeeper has made without
// data has the data null, which other libraries never write, and kazoo's counter cannot read.
type unmade struct{ *counterEpisode }

func (e unmade) Parents() []string { return []string{parentOf(e.Path)} }

// remoteHandle is a user's access to an object of another process's, and what it holds there.
type remoteHandle struct {
	conn         *remoteConn
	path         string
	incarnation  int // number of the process that holds what was acquired last
	expiriesSeen int // how many sessions were over by then
	token        int64
}

func newHandle(c recipes.Conn, path string) *remoteHandle {
	return &remoteHandle{conn: c.(*remoteConn), path: path} // of a remoteUser, see remoteEpisode.run
}

func (h *remoteHandle) call(ctx context.Context, op string, arg linearizability.Value, life int) (RemoteAnswer, error) {
	answer, err := h.conn.remote.Do(ctx, RemoteCall{User: h.conn.user, Path: h.path, Op: op, Arg: arg, Incarnation: life})
	h.conn.session = answer.Session
	return answer, err
}

// do carries out an operation that has neither argument nor result.
func (h *remoteHandle) do(ctx context.Context, op string) error {
	_, err := h.call(ctx, op, linearizability.Null, 0)
	return err
}

// acquire carries out an operation that gets hold of something. The result is a token, or whether it did, or
// nothing.
func (h *remoteHandle) acquire(ctx context.Context, op string) (bool, error) {
	told := h.conn.remote.ExpiriesSeen()
	answer, err := h.call(ctx, op, linearizability.Null, 0)
	if err != nil || answer.Result == linearizability.Bool(false) {
		return false, err
	}
	h.incarnation, h.expiriesSeen, h.token = answer.Incarnation, told, answer.Result.Int()
	return true, nil
}

func (h *remoteHandle) take(ctx context.Context, op string) error {
	_, err := h.acquire(ctx, op)
	return err
}

// giveBack ends what the handle holds. If the process that held it is no more, it was lost with it.
func (h *remoteHandle) giveBack(ctx context.Context, op string) error {
	_, err := h.call(ctx, op, linearizability.Null, h.incarnation)
	return err
}

// Token is 0 if the recipe has none.
func (h *remoteHandle) Token() int64 { return h.token }

// IsOwner asks the recipe, if it can tell. A user of one that cannot looks after its session itself.
func (h *remoteHandle) IsOwner() bool {
	if !h.conn.remote.Can("owner") {
		return h.conn.remote.ExpiriesSeen() == h.expiriesSeen
	}
	// A user asks between its operations, and waits as long as the process sleeps.
	answer, err := h.conn.remote.Do(context.Background(), RemoteCall{User: h.conn.user, Path: h.path, Op: "owner", Incarnation: h.incarnation})
	return err == nil && answer.Result == linearizability.Bool(true)
}

type remoteLock struct{ *remoteHandle }

func (l remoteLock) Lock(ctx context.Context) error   { return l.take(ctx, "acquire") }
func (l remoteLock) Unlock(ctx context.Context) error { return l.giveBack(ctx, "release") }

// remoteTryLock is a lock that can also be tried.
type remoteTryLock struct{ remoteLock }

func (l remoteTryLock) TryLock(ctx context.Context) (bool, error) { return l.acquire(ctx, "try") }

func newRemoteLock(c recipes.Conn, path string) Locker {
	lock := remoteLock{newHandle(c, path)}
	if lock.conn.remote.Can("try") {
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

func newRemoteRWLock(c recipes.Conn, path string) RWLocker {
	lock := remoteRWLock{remoteLock{newHandle(c, path)}}
	if lock.conn.remote.Can("try") && lock.conn.remote.Can("rtry") {
		return remoteTryRWLock{lock}
	}
	return lock
}

type remoteSemaphore struct{ *remoteHandle }

func (s remoteSemaphore) Acquire(ctx context.Context) error { return s.take(ctx, "acquire") }
func (s remoteSemaphore) Release(ctx context.Context) error { return s.giveBack(ctx, "release") }

type remoteTrySemaphore struct{ remoteSemaphore }

func (s remoteTrySemaphore) TryAcquire(ctx context.Context) (bool, error) {
	return s.acquire(ctx, "try")
}

func newRemoteSemaphore(c recipes.Conn, path string) Permitter {
	semaphore := remoteSemaphore{newHandle(c, path)}
	if semaphore.conn.remote.Can("try") {
		return remoteTrySemaphore{semaphore}
	}
	return semaphore
}

type remoteCandidate struct{ *remoteHandle }

func (c remoteCandidate) Campaign(ctx context.Context) error { return c.take(ctx, "elected") }
func (c remoteCandidate) Resign(ctx context.Context) error   { return c.giveBack(ctx, "resigned") }

func newRemoteCandidate(c recipes.Conn, path string) Candidate {
	return remoteCandidate{newHandle(c, path)}
}

type remoteCounter struct{ *remoteHandle }

func (c remoteCounter) Add(ctx context.Context, delta int64) (int64, error) {
	answer, err := c.call(ctx, "add", linearizability.Int(delta), 0)
	return answer.Result.Int(), err
}

func (c remoteCounter) Get(ctx context.Context) (int64, error) {
	answer, err := c.call(ctx, "get", linearizability.Null, 0)
	return answer.Result.Int(), err
}

// newRemoteQueue makes a queue of a handle, with the operations that the recipe has.
func newRemoteQueue(h *remoteHandle) queueClient {
	removal := func(op string) func(context.Context) ([]byte, error) {
		return func(ctx context.Context) ([]byte, error) {
			answer, err := h.call(ctx, op, linearizability.Null, 0)
			switch {
			case err != nil:
				return nil, err
			case answer.Result.IsNull():
				return nil, ErrEmpty
			}
			return []byte(answer.Result.String()), nil
		}
	}
	client := queueClient{
		offer: func(ctx context.Context, it queueItem) error {
			_, err := h.call(ctx, "offer", linearizability.Str(it.value), 0)
			return err
		},
		removals: map[string]func(context.Context) ([]byte, error){"poll": removal("poll")},
	}
	for _, op := range []string{"take", "peek"} {
		if h.conn.remote.Can(op) {
			client.removals[op] = removal(op)
		}
	}
	return client
}

type remoteBarrier struct{ *remoteHandle }

func (g remoteBarrier) Shut(ctx context.Context) error { return g.do(ctx, "shut") }
func (g remoteBarrier) Open(ctx context.Context) error { return g.do(ctx, "open") }
func (g remoteBarrier) Wait(ctx context.Context) error { return g.do(ctx, "wait") }
