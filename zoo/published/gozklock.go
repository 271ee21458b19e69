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

// GoZKLock is a mutual exclusion lock. After zk.Lock, go-zookeeper/zk, file lock.go, as it was at several commits:
// L13 before f774f13 (2013), L12 before 1d7be4e (2016), L14 before 21b4929 (2021), the others up to 6d30b8b.
//
// The original's Lock cannot be interrupted. Here a caller may give up while it waits, and the znode is deleted then,
// whatever the bugs.
type GoZKLock struct {
	c        recipes.Conn
	path     string
	lockPath string
	bugs     Bugs
	place    contender // does what CreateProtectedEphemeralSequential is for
}

// NewGoZKLock returns a lock, which starts unlocked.
func NewGoZKLock(c recipes.Conn, path string, bugs Bugs) *GoZKLock {
	return &GoZKLock{c: c, path: path, bugs: bugs, place: newContender(c, path, "_c_", "-lock-", bugs)}
}

// Lock waits until the lock is acquired or an error occurs. If this instance has the lock already it returns
// zk.ErrDeadlock.
func (l *GoZKLock) Lock(ctx context.Context) error {
	if l.lockPath != "" {
		return zk.ErrDeadlock
	}
	err := l.acquire(ctx)
	switch {
	case err == nil:
		l.lockPath = l.place.path
	case ctx.Err() == nil && l.bugs.Has("L10"): // BUG: L10 the znode stays in the queue, and Unlock says "not locked"
	default:
		err = l.place.orWithdraw(err)
	}
	return err
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
		if first && l.bugs.Has("L9") { // BUG: L9 so is a znode that is gone, until a lower one is seen
			return nil
		}
		if first || !ours {
			_, held, err := l.place.first(ctx, l.listed(ours))
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

// listed is the position of a znode that is first if it is there.
func (l *GoZKLock) listed(ours bool) int {
	if ours {
		return 0
	}
	return -1
}

// children lists the contenders with their numbers.
func (l *GoZKLock) children(ctx context.Context) (children []standing, err error) {
	var names []string
	err = l.ask(ctx, func() (err error) { names, _, err = l.c.Children(l.path); return err })
	if errors.Is(err, zk.ErrNoNode) && !l.bugs.Has("L10") {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !l.bugs.Has("L14") && !l.bugs.Has("L15") {
		return l.place.order(ctx, names)
	}
	for _, name := range names {
		s, err := l.parseSeq(name)
		if err != nil {
			return nil, err
		}
		children = append(children, standing{name: name, number: s})
	}
	return children, nil
}

// ask sends a request.
func (l *GoZKLock) ask(ctx context.Context, request func() error) error {
	if l.bugs.Has("L10") {
		return request()
	}
	return retry(ctx, request)
}

// parseSeq is the sequence number of a name.
func (l *GoZKLock) parseSeq(name string) (int64, error) {
	separator := "lock-"
	if l.bugs.Has("L14") {
		separator = "-" // BUG: L14 also the sign of a number after the wrap
	}
	parts := strings.Split(name, separator)
	return strconv.ParseInt(parts[len(parts)-1], 10, 64)
}

// neighbours says whether the own znode is among the children, whether it has the lowest number, and which comes
// right before it.
func (l *GoZKLock) neighbours(children []standing) (ours, first bool, prevSeqPath string, err error) {
	seq, err := l.own(children)
	if err != nil {
		return false, false, "", err
	}
	lowestSeq := seq
	prevSeq := int64(math.MinInt64)
	switch {
	case l.bugs.Has("L12"):
		prevSeq = 0 // BUG: L12 number 0 is skipped, and l.path + "/" is watched: NoNode in 2016, an invalid path today
	case l.bugs.Has("L15"):
		prevSeq = -1 // BUG: L15 after the wrap all numbers are skipped, with the same effect
	}
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
	err := l.ask(ctx, func() (err error) { _, _, ch, err = l.c.GetW(l.path + "/" + name); return err })
	switch {
	case errors.Is(err, zk.ErrNoNode) && l.bugs.Has("L13"): // BUG: L13 nothing is watched, and ch is nil
	case errors.Is(err, zk.ErrNoNode):
		return nil // try again
	case err != nil:
		return err
	}
	event, err := l.place.hear(ctx, ch)
	if event.Err != nil && l.bugs.Has("L10") {
		return event.Err
	}
	return err
}

// Unlock releases an acquired lock. If the lock is not held by this instance it returns zk.ErrNotLocked.
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
