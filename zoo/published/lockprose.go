package published

import (
	"context"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
)

// ProseLock is the lock that an article about ZooKeeper's recipes describes in five steps, before it shows Apache's
// classes. (The step that creates the directory is enlist's here.)
type ProseLock struct{ contender }

// NewProseLock returns a lock; nothing is sent before it is used.
func NewProseLock(client recipes.Conn, dir string, bugs Bugs) *ProseLock {
	l := &ProseLock{newContender(client, dir, "lock-", "-", bugs)}
	l.anonymous = bugs.Has("W19") // BUG: W19 the name has nothing by which a znode is found again after a lost reply
	return l
}

// Lock waits until the lock is held.
func (l *ProseLock) Lock(ctx context.Context) error {
	// 1. Create an ephemeral sequential znode.
	// 2. List the children, without a watch.
	// 3. The smallest number owns the lock.
	return l.orWithdraw(l.waitTurnBy(ctx, rightBefore, func(name string) (bool, error) {
		// 4. Else watch the znode right before by exists.
		event, err := l.await(ctx, name)
		// 5. When the watch fires, judge again by 4.
		// BUG: W18 by the old list: another that was before the one that is gone may still be there
		return event.Type == zk.EventNodeDeleted && l.bugs.Has("W18"), err
	}))
}

// await waits for a znode to go away. There is no event if it had gone before.
func (l *ProseLock) await(ctx context.Context, name string) (event zk.Event, err error) {
	if l.bugs.Has("W17") { // BUG: W17 also when it is gone already: the text does not say to read the list again
		return l.hearByExists(ctx, name)
	}
	event, _, err = l.hearOf(ctx, name)
	return event, err
}

// HerdLock is the lock that a collection of notes on ZooKeeper describes in four steps, before it shows the class
// [Locks]. Everybody watches the first.
type HerdLock struct{ contender }

// NewHerdLock returns a lock; nothing is sent before it is used.
func NewHerdLock(client recipes.Conn, dir string, bugs Bugs) *HerdLock {
	l := &HerdLock{newContender(client, dir, "c-", "-", bugs)}
	if bugs.Has("LK9") { // BUG: LK9 sequential but not ephemeral: the znode outlives its client
		l.flags = zk.FlagSequence
	}
	return l
}

// Lock waits until the lock is held.
func (l *HerdLock) Lock(ctx context.Context) error {
	// 1. and 2. Create the directory and the child.
	// 3. The smallest of the children holds the lock.
	return l.orWithdraw(l.waitTurn(ctx, func(names []string, own int) string {
		if own == 0 {
			return ""
		}
		return names[0] // 4. Else watch the smallest, and go back to 3 when it is deleted.
	}))
}
