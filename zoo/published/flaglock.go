package published

import (
	"context"
	"sync/atomic"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
)

// FlagLock is a lock whose owner looks at a flag. The goroutine that waits for the lock raises it, and another one, which
// waits for the end of the own znode, lowers it. After a pattern of Go services over ZooKeeper, which hold a lock or lead and
// have leading.Store(true) where they have got it, and leading.Store(false) in a goroutine that has watched since they asked.
// Neither goroutine need run as soon as what it waits for has come.
type FlagLock struct {
	contender
	bugs  Bugs
	place atomic.Pointer[place]
}

// place is one znode in the line, and the flag of its hold.
type place struct{ flag atomic.Int32 }

// What a flag says.
const (
	waiting int32 = iota
	raised
	lowered
)

// NewFlagLock returns a lock; nothing is sent before it is used.
func NewFlagLock(client recipes.Conn, dir string, bugs Bugs) *FlagLock {
	return &FlagLock{contender: newContender(client, dir, "lock-", "-", bugs), bugs: bugs}
}

// IsOwner tells whether the flag is raised.
func (l *FlagLock) IsOwner() bool {
	p := l.place.Load()
	return p != nil && p.flag.Load() == raised
}

// Lock waits until the lock is held.
func (l *FlagLock) Lock(ctx context.Context) error { return l.orWithdraw(l.acquire(ctx)) }

func (l *FlagLock) acquire(ctx context.Context) error {
	if err := l.enlist(ctx); err != nil {
		return err
	}
	for {
		watch, there, err := l.confirm(ctx)
		if err != nil {
			return err
		}
		if there {
			p := new(place)
			l.place.Store(p)
			go l.lower(watch, p)
			if held, err := l.contend(ctx, p); held || err != nil {
				return err
			}
		}
		if err := l.enlist(ctx); err != nil {
			return err
		}
	}
}

// lower waits for the end of a znode.
func (l *FlagLock) lower(watch <-chan zk.Event, p *place) {
	<-watch
	if l.bugs.Has("T2") { // BUG: T2 the flag is the present hold's, whichever znode has ended
		p = l.place.Load()
	}
	p.flag.Store(lowered)
}

// contend waits until the own znode is first. It returns false if it is gone.
func (l *FlagLock) contend(ctx context.Context, p *place) (held bool, err error) {
	for {
		names, own, err := l.line(ctx)
		if own < 0 || err != nil {
			return false, err
		}
		if own == 0 {
			return l.raise(p), nil
		}
		if err := l.awaitDeletion(ctx, names[own-1]); err != nil {
			return false, err
		}
	}
}

// raise raises the flag unless the znode has ended meanwhile.
func (l *FlagLock) raise(p *place) bool {
	if l.bugs.Has("T1") { // BUG: T1 it was lowered already: the end was told before the answer that it is first was looked at
		p.flag.Store(raised)
		return true
	}
	return p.flag.CompareAndSwap(waiting, raised)
}

// Unlock removes the znode. It returns recipes.ErrLost if the hold is over.
func (l *FlagLock) Unlock(context.Context) error {
	if !l.IsOwner() {
		return recipes.ErrLost
	}
	return l.withdraw()
}
