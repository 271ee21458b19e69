package published

import (
	"context"
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
)

// GoZKLock is a mutual exclusion lock. After zk.Lock, go-zookeeper/zk, file lock.go, up to 6d30b8b.
//
// The original's Lock cannot be interrupted. Here a caller may give up while it waits, and the
// znode is deleted then, whatever the bugs.
type GoZKLock struct {
	c        recipes.Conn
	path     string
	lockPath string
	place    contender // does what CreateProtectedEphemeralSequential is for

	// The steps in which it had bugs.
	failed   func(ctx context.Context, err error) error // of Lock
	numbered func(ctx context.Context, names []string) ([]standing, error)
	least    int64 // below all numbers
	holds    func(ctx context.Context, ours, first bool) (bool, error)
}

// NewGoZKLock returns a lock, which starts unlocked.
func NewGoZKLock(c recipes.Conn, path string, bugs Bugs) *GoZKLock {
	l := &GoZKLock{c: c, path: path, place: newContender(c, path, "_c_", "-lock-"), least: math.MinInt64}
	l.failed = func(_ context.Context, err error) error { return l.place.orWithdraw(err) }
	l.numbered, l.holds = l.place.order, l.confirm
	return mistaken(mistaken(l, bugs.Has, goZKLockMistakes), bugs.Later, goZKLockLater)
}

var goZKLockMistakes = []mistake[GoZKLock]{
	{"L9", func(l *GoZKLock) {
		l.holds = func(ctx context.Context, ours, first bool) (bool, error) {
			if first { // BUG: L9 so is a znode that is gone, until a lower one is seen
				return true, nil
			}
			return l.confirm(ctx, ours, first)
		}
	}},
	{"L15", func(l *GoZKLock) {
		l.numbered = l.parsed
		l.least = -1 // BUG: L15 after the wrap all numbers are skipped, and the directory with a slash is watched, which is an invalid path
	}},
}

// goZKLockLater are mistakes of locks that other projects have written in the same way.
var goZKLockLater = []mistake[GoZKLock]{
	{"L31", func(l *GoZKLock) {
		l.failed = func(ctx context.Context, err error) error {
			if ctx.Err() != nil { // BUG: L31 who gives up returns, and the znode stays in the queue
				return err
			}
			return l.place.orWithdraw(err)
		}
	}},
}

// Lock waits until the lock is acquired or an error occurs. If this instance has the lock already
// it returns zk.ErrDeadlock.
func (l *GoZKLock) Lock(ctx context.Context) error {
	if l.lockPath != "" {
		return zk.ErrDeadlock
	}
	if err := l.acquire(ctx); err != nil {
		return l.failed(ctx, err)
	}
	l.lockPath = l.place.path
	return nil
}

func (l *GoZKLock) acquire(ctx context.Context) error {
	if err := l.place.enlist(ctx); err != nil {
		return err
	}
	for {
		children, err := l.children(ctx)
		if err != nil {
			return err
		}
		ours, first, prevSeqPath, err := l.neighbours(children)
		if err != nil {
			return err
		}
		if first || !ours {
			held, err := l.holds(ctx, ours, first)
			if held || err != nil {
				return err
			}
			continue
		}
		// Wait on the node next in line for the lock.
		if err := l.await(ctx, prevSeqPath); err != nil {
			return err
		}
	}
}

// confirm looks whether a znode that is first, if it is there, is this session's, and makes another
// if it is not.
func (l *GoZKLock) confirm(ctx context.Context, ours, _ bool) (held bool, err error) {
	listed := -1
	if ours {
		listed = 0
	}
	_, held, err = l.place.first(ctx, listed)
	return held, err
}

// children lists the contenders with their numbers.
func (l *GoZKLock) children(ctx context.Context) ([]standing, error) {
	var names []string
	err := retry(ctx, func() (err error) { names, _, err = l.c.Children(l.path); return err })
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return l.numbered(ctx, names)
}

// parsed gives names the numbers that they end in.
func (l *GoZKLock) parsed(_ context.Context, names []string) (children []standing, err error) {
	for _, name := range names {
		s, err := l.parseSeq(name)
		if err != nil {
			return nil, err
		}
		children = append(children, standing{name: name, number: s})
	}
	return children, nil
}

// parseSeq is the sequence number of a name.
func (l *GoZKLock) parseSeq(name string) (int64, error) {
	parts := strings.Split(name, "lock-")
	return strconv.ParseInt(parts[len(parts)-1], 10, 64)
}

// neighbours says whether the own znode is among the children, whether it has the lowest number,
// and which comes right before it.
func (l *GoZKLock) neighbours(children []standing) (ours, first bool, prevSeqPath string, err error) {
	seq, err := l.own(children)
	if err != nil {
		return false, false, "", err
	}
	lowestSeq, prevSeq := seq, l.least
	for _, p := range children {
		lowestSeq = min(lowestSeq, p.number)
		if p.number < seq && p.number > prevSeq {
			prevSeq, prevSeqPath = p.number, p.name
		}
		ours = ours || l.path+"/"+p.name == l.place.path
	}
	return ours, seq == lowestSeq, prevSeqPath, nil
}

// own is the own number, as it is in the list or, if it is not there, in the name.
func (l *GoZKLock) own(children []standing) (int64, error) {
	for _, p := range children {
		if l.path+"/"+p.name == l.place.path {
			return p.number, nil
		}
	}
	return l.parseSeq(l.place.path)
}

// await waits until a znode may be gone.
func (l *GoZKLock) await(ctx context.Context, name string) error {
	var ch <-chan zk.Event
	err := retry(ctx, func() (err error) { _, _, ch, err = l.c.GetW(l.path + "/" + name); return err })
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return nil // try again
	case err != nil:
		return err
	}
	_, err = l.place.hear(ctx, ch)
	return err
}

// Unlock releases an acquired lock. If the lock is not held by this instance it returns
// zk.ErrNotLocked.
func (l *GoZKLock) Unlock(context.Context) error {
	if l.lockPath == "" {
		return zk.ErrNotLocked
	}
	if err := l.place.withdraw(); err != nil {
		return err
	}
	l.lockPath = ""
	return nil
}
