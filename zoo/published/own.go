package published

import (
	"context"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
)

// OwnLock is a lock around a sound one, with mistakes of this project's own making: each needs a day, or a property, of
// which no published recipe is known that shows it alone.
type OwnLock struct {
	*inner
	conn recipes.Conn
	dir  string

	once sync.Once
	made error // what came of making the directory

	mu        sync.Mutex
	suspended chan struct{} // of the present hold

	// The steps in which it has bugs.
	prepare func(ctx context.Context) error // makes the directory
	acquire func(ctx context.Context) error
	lost    func() <-chan struct{}
}

// inner has another name than Lock, so that an OwnLock may have a method of that name beside what it embeds.
type inner = recipes.Lock

// NewOwnLock returns a lock on a directory.
func NewOwnLock(conn recipes.Conn, dir string, bugs Bugs) *OwnLock {
	l := &OwnLock{inner: recipes.NewLock(conn, dir), conn: conn, dir: dir}
	l.prepare = func(ctx context.Context) error { return surePath(ctx, conn, dir) }
	l.acquire, l.lost = l.inner.Lock, l.inner.Lost
	return mistaken(l, bugs.Has, ownLockMistakes)
}

var ownLockMistakes = []mistake[OwnLock]{
	{"F1", func(l *OwnLock) {
		l.lost = l.suspension
		go l.listen(recipes.SessionEvents(l.conn))
	}},
	{"I1", func(l *OwnLock) { l.acquire = l.poll }},
	{"U1", func(l *OwnLock) {
		l.prepare = func(context.Context) error {
			l.once.Do(func() { l.made = ensurePath(l.conn, l.dir) })
			return l.made // BUG: U1 the error of the first time is kept for ever
		}
	}},
}

// pollEvery is how long I1 pauses first.
const pollEvery = 800 * time.Millisecond

// Lock waits for the lock.
func (l *OwnLock) Lock(ctx context.Context) error {
	if err := l.prepare(ctx); err != nil {
		return err
	}
	if err := l.acquire(ctx); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.suspended = make(chan struct{})
	return nil
}

// TryLock takes the lock if it is free.
func (l *OwnLock) TryLock(ctx context.Context) (bool, error) {
	got, err := l.inner.TryLock(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.suspended = make(chan struct{})
	return got, err
}

// listen hears of the connection.
func (l *OwnLock) listen(events <-chan zk.Event) {
	for event := range events {
		if event.State == zk.StateDisconnected { // BUG: F1 the session lives on, and the znode is there
			l.mu.Lock()
			if l.suspended != nil && !closed(l.suspended) {
				close(l.suspended)
			}
			l.mu.Unlock()
		}
	}
}

// Lost returns a channel that is closed when the hold is lost.
func (l *OwnLock) Lost() <-chan struct{} { return l.lost() }

// suspension is closed when the connection is lost.
func (l *OwnLock) suspension() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.suspended
}

func closed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

// poll tries to get the lock again and again.
func (l *OwnLock) poll(ctx context.Context) error {
	for rest := pollEvery; ; rest *= 10 { // BUG: I1 the pause has no bound: it outlasts the hold by far
		if got, err := l.inner.TryLock(ctx); got || err != nil {
			return err
		}
		if err := pauseFor(ctx, rest); err != nil {
			return err
		}
	}
}
