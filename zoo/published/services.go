package published

import (
	"context"
	"errors"
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
	return &FlagLock{contender: newContender(client, dir, "lock-", "-"), bugs: bugs}
}

// IsOwner reports whether the flag is raised.
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

// RacedLock is a lock around a sound one, with goroutines of its own that race in the memory of one process. Each of its
// mistakes shows only if the Go runtime decides one thing in the less likely way: such decisions are drawn, and replayed, in
// exact mode alone. After three patterns of Go services over ZooKeeper: the grant and the end of the session are cases of one
// select; two callbacks are called on one event, and one relies on what the other does; a hold is released by its owner
// and by what looks after it.
type RacedLock struct {
	conn recipes.Conn
	lock *recipes.Lock
	path string
	bugs Bugs

	hold     *racedHold
	releases atomic.Int64
}

// racedHold is what belongs to one hold.
type racedHold struct {
	released, dropped atomic.Bool
	releases          *atomic.Int64 // of all holds
}

// NewRacedLock returns a lock on a directory.
func NewRacedLock(conn recipes.Conn, path string, bugs Bugs) *RacedLock {
	return &RacedLock{conn: conn, lock: recipes.NewLock(conn, path), path: path, bugs: bugs}
}

// Lock waits for the lock.
func (l *RacedLock) Lock(ctx context.Context) error {
	session := l.conn.SessionID()
	if err := l.acquire(ctx); err != nil {
		return err
	}
	if err := l.announce(); err != nil {
		return errors.Join(err, l.lock.Unlock(context.WithoutCancel(ctx)))
	}
	if l.conn.SessionID() != session { // the session of the hold may have ended while the line was looked at
		return errors.Join(recipes.ErrLost, l.lock.Unlock(context.WithoutCancel(ctx)))
	}
	l.hold = &racedHold{releases: &l.releases}
	return nil
}

// acquire looks at the line while the request is under way, and gives up with ctx.
func (l *RacedLock) acquire(ctx context.Context) error {
	granted := make(chan error, 1)
	go func() { granted <- l.lock.Lock(ctx) }()
	for range looks {
		l.conn.Children(l.path) // for the log: how long the line is
	}
	select {
	case err := <-granted:
		return err
	case <-ctx.Done():
		return l.giveUp(ctx, granted)
	}
}

// looks is how often the length of the line is logged, so that a free lock is granted meanwhile.
const looks = 4

// giveUp waits for the request that is under way, so that nothing is left behind.
func (l *RacedLock) giveUp(ctx context.Context, granted <-chan error) error {
	select {
	case err := <-granted:
		if l.bugs.Has("G1") { // BUG: G1 the grant and the end of ctx are ready together: the lock is kept
			return errors.Join(ctx.Err(), err)
		}
		return l.abandon(ctx, err)
	default:
		return l.abandon(ctx, <-granted)
	}
}

// abandon releases what was granted all the same.
func (l *RacedLock) abandon(ctx context.Context, err error) error {
	if err == nil {
		err = l.lock.Unlock(context.WithoutCancel(ctx))
	}
	return errors.Join(ctx.Err(), err)
}

// errUnknown is the error of a callback that finds what another should have noted missing.
var errUnknown = errors.New("granted, and nobody has noted by whom")

// announce tells two callbacks of the grant: one notes it, the other needs the note.
func (l *RacedLock) announce() error {
	granted, noted, answer := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	var owner atomic.Pointer[RacedLock]
	check := func() {
		<-granted
		if !l.bugs.Has("G2") { // BUG: G2 the callbacks of one event are taken to be called in the order of their registration
			<-noted
		}
		if owner.Load() != l {
			answer <- errUnknown
			return
		}
		answer <- nil
	}
	go func() { <-granted; owner.Store(l); close(noted) }()
	go check()
	close(granted)
	return <-answer
}

// Unlock releases, and so does a goroutine that cleans up behind every hold.
func (l *RacedLock) Unlock(context.Context) error {
	h, cleaned := l.hold, make(chan error, 1)
	go func() { cleaned <- l.release(h) }()
	err := l.release(h)
	return errors.Join(err, <-cleaned)
}

// release releases a hold, once.
func (l *RacedLock) release(h *racedHold) error {
	if l.bugs.Has("G3") { // BUG: G3 whether it was released is looked up and noted in two steps: both may release
		if h.released.Load() {
			return nil
		}
		go h.releases.Add(1)
		h.released.Store(true)
	} else if !h.released.CompareAndSwap(false, true) {
		return nil
	}
	return l.drop(h)
}

// errTwice is the error of giving up what is not held.
var errTwice = errors.New("released twice: the lock is not held")

func (l *RacedLock) drop(h *racedHold) error {
	if h.dropped.Swap(true) {
		return errTwice
	}
	return l.lock.Unlock(context.Background())
}
