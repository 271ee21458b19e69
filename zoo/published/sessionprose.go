package published

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
)

// SessionLock is a lock that is written to what notes on ZooKeeper say of sessions: that a client whose connection
// breaks gets no events, and hears "session expired" when it has reached another server. It is for a client that
// tells watches of the connection's state, as Java's does.
type SessionLock struct {
	contender
	owner
}

// NewSessionLock returns a lock; nothing is sent before it is used.
func NewSessionLock(client recipes.Conn, dir string, bugs Bugs) *SessionLock {
	return &SessionLock{contender: newContender(client, dir, "lock-", "-", bugs)}
}

// Lock waits until the lock is held.
func (l *SessionLock) Lock(ctx context.Context) error {
	return l.orWithdraw(l.acquire(ctx))
}

func (l *SessionLock) acquire(ctx context.Context) error {
	for {
		// What an expired session had is gone: begin anew.
		if err := l.enlist(ctx); err != nil {
			return err
		}
		watch, err := l.contend(ctx)
		if err != nil {
			return err
		}
		if watch != nil {
			go l.keep(watch, l.begin())
			return nil
		}
	}
}

// contend waits until the own znode is first, and returns a watch on it; nil if it is gone.
func (l *SessionLock) contend(ctx context.Context) (<-chan zk.Event, error) {
	for {
		names, own, err := l.line(ctx)
		if own < 0 || err != nil {
			return nil, err
		}
		if own == 0 {
			watch, held, err := l.confirm(ctx)
			if !held {
				watch = nil
			}
			return watch, err
		}
		expired, err := l.await(ctx, l.dir+"/"+names[own-1])
		if expired || err != nil {
			return nil, err
		}
	}
}

// await waits until a znode may be gone, or the session has expired.
func (l *SessionLock) await(ctx context.Context, path string) (expired bool, err error) {
	var watch <-chan zk.Event
	err = retry(ctx, func() (err error) { _, _, watch, err = l.client.GetW(path); return err })
	if errors.Is(err, zk.ErrNoNode) {
		return false, nil
	}
	for err == nil {
		var event zk.Event
		event, err = l.hear(ctx, watch)
		if expired := l.expired(event); expired || event.Type != zk.EventSession {
			return expired, err
		}
	}
	return false, err
}

// expired tells whether an event means that the session has expired.
func (l *SessionLock) expired(event zk.Event) bool {
	if l.bugs.Has("LK11") && event.Type == zk.EventSession && event.State == zk.StateHasSession {
		return true // BUG: LK11 the connection has been made again: the session lives, and its znodes
	}
	return event.State == zk.StateExpired || errors.Is(event.Err, zk.ErrSessionExpired)
}

// keep ends a hold with the session, or when the znode is gone.
func (l *SessionLock) keep(watch <-chan zk.Event, h *hold) {
	for event := range watch {
		if l.expired(event) || event.Type != zk.EventSession {
			break
		}
	}
	h.over.Store(true)
}

// Unlock deletes the znode, unless that has gone with its session.
func (l *SessionLock) Unlock(context.Context) error {
	if !l.IsOwner() {
		return nil
	}
	err := l.withdraw()
	if err == nil {
		l.hold.Store(nil)
	}
	return err
}
