package published

import (
	"context"
	"errors"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
)

// NewProseLock returns the lock that an article about ZooKeeper's recipes describes in five steps,
// before it shows Apache's classes. (The step that creates the directory is enlist's here.)
//
//  1. Create an ephemeral sequential znode.
//  2. List the children, without a watch.
//  3. The smallest number owns the lock.
//  4. Else watch the znode right before by exists.
//  5. When the watch fires, judge again by 4.
func NewProseLock(client recipes.Conn, dir string, bugs Bugs) *Waiter {
	l := newWaiter(client, dir, "lock-", "-")
	if bugs.Has("W18") {
		l.await = func(ctx context.Context, name string) (bool, error) {
			event, _, err := l.hearOf(ctx, name)
			// BUG: W18 by the old list: another that was before the one that is gone may still be there
			return event.Type == zk.EventNodeDeleted, err
		}
	}
	if bugs.Has("W17") {
		l.await = func(ctx context.Context, name string) (bool, error) {
			// BUG: W17 also when it is gone already: the text does not say to read the list again
			_, err := l.hearByExists(ctx, name)
			return false, err
		}
	}
	l.anonymous = bugs.Has("W19") // BUG: W19 the name has nothing by which a znode is found again after a lost reply
	return l
}

// NewHerdLock returns the lock that a collection of notes on ZooKeeper describes in four steps,
// before it shows the class Locks. Everybody watches the first.
//
//  1. and 2. Create the directory and the child.
//  3. The smallest of the children holds the lock.
//  4. Else watch the smallest, and go back to 3 when it is deleted.
func NewHerdLock(client recipes.Conn, dir string, bugs Bugs) *Waiter {
	l := newWaiter(client, dir, "c-", "-")
	l.inTheWay = func(names []string, own int) string {
		if own == 0 {
			return ""
		}
		return names[0]
	}
	if bugs.Has("LK9") { // BUG: LK9 sequential but not ephemeral: the znode outlives its client
		l.flags = zk.FlagSequence
	}
	return l
}

const (
	proseReader = "read-"
	proseWriter = "write-"
)

// NewProseRWLock returns the read/write lock that notes on ZooKeeper describe in two steps, after the
// class Locks: what a reader does, and that it differs from what is done where there are writers
// only. Of writers the text says no more; here each waits for the one right before it.
func NewProseRWLock(client recipes.Conn, dir string, bugs Bugs) RWWaiter {
	l := RWWaiter{Waiter: newWaiter(client, dir, "", "-")}
	read, write := l.await, l.await
	if bugs.Has("LK10") {
		read = func(ctx context.Context, name string) (done bool, err error) {
			return true, l.awaitDeletion(ctx, name) // BUG: LK10 another writer may have been behind that one: back to 2
		}
	}
	// 1. Create the znode, read- or write-. 2. Wait for one with a smaller number.
	l.read = func() { l.prefix, l.inTheWay, l.await = proseReader, firstWriter, read }
	l.write = func() { l.prefix, l.inTheWay, l.await = proseWriter, rightBefore, write }
	return l
}

// firstWriter is what a reader waits for.
func firstWriter(names []string, own int) string {
	for _, name := range names[:own] {
		if strings.HasPrefix(name, proseWriter) {
			return name
		}
	}
	return ""
}

// SessionLock is a lock that is written to what notes on ZooKeeper say of sessions: that a client whose connection
// breaks gets no events, and hears "session expired" when it has reached another server. It is for a client that
// tells watches of the connection's state, as Java's does.
type SessionLock struct {
	contender
	owner
	bugs Bugs
}

// NewSessionLock returns a lock; nothing is sent before it is used.
func NewSessionLock(client recipes.Conn, dir string, bugs Bugs) *SessionLock {
	return &SessionLock{contender: newContender(client, dir, "lock-", "-"), bugs: bugs}
}

// Lock waits until the lock is held.
func (l *SessionLock) Lock(ctx context.Context) error {
	if err := l.enlist(ctx); err != nil {
		return l.orWithdraw(err)
	}
	watch, err := l.reachTurn(ctx, rightBefore, func(name string) (done bool, err error) {
		expired, err := l.await(ctx, l.dir+"/"+name)
		if expired && err == nil {
			err = l.enlist(ctx) // what an expired session had is gone: begin anew
		}
		return false, err
	})
	if err == nil {
		go l.keep(watch, l.begin())
	}
	return l.orWithdraw(err)
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

// expired reports whether an event means that the session has expired.
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
