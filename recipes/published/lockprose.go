package published

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
)

// ProseLock is the lock that an article about ZooKeeper's recipes describes in five steps, before it
// shows Apache's classes. (The step that creates the directory is enlist's here.)
type ProseLock struct {
	place contender
	bugs  Bugs
}

// NewProseLock returns a lock; nothing is sent before it is used.
func NewProseLock(client recipes.Conn, dir string, bugs Bugs) *ProseLock {
	l := &ProseLock{place: newContender(client, dir, "lock-"), bugs: bugs}
	l.place.anonymous = bugs.Has("W19") // BUG: W19 the name has nothing by which a znode is found again after a lost reply
	return l
}

// Lock waits until the lock is held.
func (l *ProseLock) Lock(ctx context.Context) error {
	err := l.acquire(ctx)
	if err != nil {
		err = errors.Join(err, l.place.withdraw())
	}
	return err
}

func (l *ProseLock) acquire(ctx context.Context) error {
	// 1. Create an ephemeral sequential znode.
	if err := l.place.enlist(ctx); err != nil {
		return err
	}
	for {
		// 2. List the children, without a watch.
		names, own, err := l.place.line(ctx)
		if err != nil {
			return err
		}
		// 3. The smallest number owns the lock.
		if own <= 0 {
			held, err := l.place.first(ctx, own)
			if held || err != nil {
				return err
			}
			continue
		}
		// 4. Else watch the znode right before by exists.
		fired, err := l.await(ctx, l.place.dir+"/"+names[own-1])
		if err != nil {
			return err
		}
		// 5. When the watch fires, judge again by 4.
		if fired && l.bugs.Has("W18") { // BUG: W18 by the old list: who was before the one that is gone may still be there
			return nil
		}
	}
}

// await waits for a znode to go away. fired is false if it had gone before.
func (l *ProseLock) await(ctx context.Context, path string) (fired bool, err error) {
	var watch <-chan zk.Event
	if l.bugs.Has("W17") { // BUG: W17 also when it is gone already: the text does not say that the list must be read again
		err = retry(ctx, func() (err error) { _, _, watch, err = l.place.client.ExistsW(path); return err })
	} else {
		err = retry(ctx, func() (err error) { _, _, watch, err = l.place.client.GetW(path); return err })
	}
	if errors.Is(err, zk.ErrNoNode) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	event, err := l.place.hear(ctx, watch)
	return event.Type == zk.EventNodeDeleted, err
}

// Unlock deletes the znode.
func (l *ProseLock) Unlock(ctx context.Context) error { return l.place.withdraw() }

// HerdLock is the lock that a collection of notes on ZooKeeper describes in four steps, before it
// shows the class [Locks]. Everybody watches the first.
type HerdLock struct {
	place contender
}

// NewHerdLock returns a lock; nothing is sent before it is used.
func NewHerdLock(client recipes.Conn, dir string, bugs Bugs) *HerdLock {
	l := &HerdLock{newContender(client, dir, "c-")}
	if bugs.Has("LK9") { // BUG: LK9 sequential but not ephemeral: the znode outlives its client
		l.place.flags = zk.FlagSequence
	}
	return l
}

// Lock waits until the lock is held.
func (l *HerdLock) Lock(ctx context.Context) error {
	err := l.acquire(ctx)
	if err != nil {
		err = errors.Join(err, l.place.withdraw())
	}
	return err
}

func (l *HerdLock) acquire(ctx context.Context) error {
	// 1. and 2. Create the directory and the child.
	if err := l.place.enlist(ctx); err != nil {
		return err
	}
	for {
		// 3. The smallest of the children holds the lock.
		names, own, err := l.place.line(ctx)
		if err != nil {
			return err
		}
		if own <= 0 {
			held, err := l.place.first(ctx, own)
			if held || err != nil {
				return err
			}
			continue
		}
		// 4. Else watch the smallest, and go back to 3 when it is deleted.
		if err := l.place.awaitDeletion(ctx, names[0]); err != nil {
			return err
		}
	}
}

// Unlock deletes the child.
func (l *HerdLock) Unlock(ctx context.Context) error { return l.place.withdraw() }
