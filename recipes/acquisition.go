package recipes

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"
)

// phase is where an acquisition stands. It only moves forward:
//
//	contending → held → releasing → over    the normal course
//	contending → over                       failed, not free (TryLock), or given up by the caller
//	held → over                             lost
type phase int

const (
	contending phase = iota
	held
	releasing
	over
)

// acquisition is one try to get the lock and, if it succeeds, the hold. One goroutine makes all
// its calls to ZooKeeper, so that callers can go away while one hangs.
//
// Invariant: at most one acquisition of a Lock makes calls. Each begins by waiting for the end of
// the one before, which may have a znode to remove that would be in its way.
type acquisition struct {
	lock    *Lock
	try     bool
	before  <-chan struct{}
	settled chan struct{} // closed when the caller of Lock may return
	ended   chan struct{} // closed when the goroutine ends: nothing is left of it but the result
	lost    chan struct{}

	holding context.Context // ends when the hold is to be released
	release context.CancelFunc

	// Used by the goroutine only.
	guid    string // "" until a znode may exist
	path    string // the znode, "" if it is not known whether or where it is
	session int64  // that owns the znode, or a later one

	// Guarded by lock.mu.
	phase   phase
	granted bool // was or is held
	given   bool // Unlock was called
	reply   bool // settled is closed
	err     error
	token   int64
}

// place is the first place in line: the own znode, seen under the present session.
type place struct {
	czxid int64
	watch <-chan zk.Event
}

var (
	// errDisplaced: the own znode is gone, or belongs to a session that is.
	errDisplaced = errors.New("displaced")
	// errBusy: others are before us and the caller does not want to wait.
	errBusy = errors.New("busy")

	errLostByClose = fmt.Errorf("%w: %w", ErrLost, ErrClosed)
)

func newAcquisition(l *Lock, last *acquisition, try bool) *acquisition {
	a := &acquisition{
		lock: l, try: try,
		settled: make(chan struct{}), ended: make(chan struct{}), lost: make(chan struct{}),
	}
	a.holding, a.release = context.WithCancel(context.Background())
	if last != nil {
		a.before = last.ended
	}
	return a
}

// run is the goroutine. It ends early, by runtime.Goexit in a call, when a simulator ends the
// client's process.
func (a *acquisition) run(ctx context.Context) {
	defer a.end()
	if !a.await(ctx) {
		return
	}
	first, err := a.contend(ctx)
	if err == nil && a.grant(first) {
		a.finish(a.keep(first))
		return
	}
	if errors.Is(err, ErrClosed) {
		a.fail(err) // the caller need not wait for what is most likely in vain
	}
	if err != ErrClosed {
		a.withdraw()
	}
	a.fail(err)
}

// await waits for the end of the acquisition before this one.
func (a *acquisition) await(ctx context.Context) bool {
	if a.before != nil {
		select {
		case <-a.before:
		case <-ctx.Done():
		}
	}
	a.before = nil // let the chain of acquisitions be collected
	if err := ctx.Err(); err != nil {
		a.fail(err)
		return false
	}
	return true
}

// contend queues until the own znode is first. When the znode gets lost on the way it queues
// again at the end, under a new guid: to the others it is a new contender.
func (a *acquisition) contend(ctx context.Context) (place, error) {
	for {
		if err := a.enlist(ctx); err != nil {
			return place{}, err
		}
		first, err := a.queue(ctx)
		if err != errDisplaced {
			return first, err
		}
	}
}

func (a *acquisition) enlist(ctx context.Context) (err error) {
	l := a.lock
	a.path, a.guid, err = l.enlist(ctx, l.dir, lockPrefix, l.data)
	a.session = l.conn.SessionID() // read after the reply, so not older than the znode's owner
	return err
}

// queue waits until the own znode is first. Each round is caused by an event, or by a
// predecessor that vanished between two requests.
//
// That the list may be old does no harm. It contains the own znode, so it is not older than that;
// every contender that was created before and still exists is in it. One that is in it and gone
// already is found gone when it is watched, or the watch fires when this server learns of it.
func (a *acquisition) queue(ctx context.Context) (place, error) {
	for {
		line, err := a.line(ctx)
		if err != nil {
			return place{}, err
		}
		i := a.find(line)
		if i < 0 {
			return place{}, errDisplaced
		}
		if err := a.prune(ctx, line[i+1:]); err != nil {
			return place{}, err
		}
		if i == 0 {
			return a.verify(ctx)
		}
		if a.try {
			return place{}, errBusy
		}
		if err := a.watch(ctx, line[i-1]); err != nil {
			return place{}, err
		}
	}
}

func (a *acquisition) line(ctx context.Context) ([]member, error) {
	l := a.lock
	line, err := l.members(ctx, l.dir, lockPrefix, l.children)
	if errors.Is(err, zk.ErrNoNode) {
		return nil, errDisplaced // the directory is gone, so the znode is
	}
	if err == nil && l.conn.SessionID() != a.session {
		return nil, errDisplaced
	}
	return line, err
}

func (a *acquisition) find(line []member) int {
	for i, m := range line {
		if m.guid == a.guid {
			a.path = join(a.lock.dir, m.name)
			return i
		}
	}
	return -1
}

// prune deletes later znodes with the own guid. There are none, unless the search after a lost
// create was answered by a leader that had been deposed without knowing: sync is not a vote of a
// quorum. The list shows both then, and the earlier one keeps the place.
func (a *acquisition) prune(ctx context.Context, behind []member) error {
	for _, m := range behind {
		if m.guid != a.guid {
			continue
		}
		if _, err := a.lock.remove(ctx, join(a.lock.dir, m.name)); err != nil && !errors.Is(err, zk.ErrNoNode) {
			return err
		}
	}
	return nil
}

// watch waits until something happens to the predecessor. It reads the znode (GetW, not ExistsW)
// so that no watch is left when it is gone already.
func (a *acquisition) watch(ctx context.Context, predecessor member) error {
	_, event, err := a.lock.getW(ctx, join(a.lock.dir, predecessor.name))
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	if err != nil {
		return err
	}
	select {
	case e := <-event:
		return closing(e)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// closing returns ErrClosed for the event that watches get when their connection is closed.
func closing(e zk.Event) error {
	if e.Type == zk.EventNotWatching && errors.Is(e.Err, zk.ErrClosing) {
		return ErrClosed
	}
	return nil
}

// ending says what an event on the own znode means for the hold: errDisplaced when the znode is
// gone, which is for good, or the session is.
func ending(e zk.Event) error {
	if e.Type == zk.EventNodeDeleted || errors.Is(e.Err, zk.ErrSessionExpired) {
		return errDisplaced
	}
	return closing(e)
}

// verify reads the own znode, which is first in line. It must be owned by the session of this
// moment: a list that a new session gets from a server that lags may show znodes of the old one.
// The watch tells when the hold is lost; it fires too when the session is replaced.
func (a *acquisition) verify(ctx context.Context) (place, error) {
	stat, watch, err := a.lock.getW(ctx, a.path)
	if errors.Is(err, zk.ErrNoNode) {
		return place{}, errDisplaced
	}
	if err != nil {
		return place{}, err
	}
	if stat.EphemeralOwner != a.lock.conn.SessionID() {
		return place{}, errDisplaced
	}
	a.session = stat.EphemeralOwner
	return place{stat.Czxid, watch}, nil
}

// keep watches over the hold until it is released or lost, and says how it ended: nil, ErrLost,
// or why ZooKeeper refused to delete the znode.
func (a *acquisition) keep(first place) error {
	for {
		var err error
		select {
		case e := <-first.watch:
			err = ending(e)
		case <-a.holding.Done():
			return a.give()
		}
		if err == nil {
			first, err = a.verify(a.holding)
		}
		switch {
		case a.holding.Err() != nil:
			return a.give()
		case err != nil:
			return a.lose(err)
		}
	}
}

// give deletes the znode, however often that takes.
//
// ErrNoNode after an attempt without an answer means that the attempt was carried out, unless the
// session has been replaced meanwhile: then the expiry may have come first.
func (a *acquisition) give() error {
	l := a.lock
	unsure, err := l.remove(context.Background(), a.path)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, zk.ErrNoNode) && unsure && l.conn.SessionID() == a.session:
		return nil
	case errors.Is(err, zk.ErrNoNode):
		return ErrLost
	case errors.Is(err, ErrClosed):
		return errLostByClose
	}
	return fmt.Errorf("recipes: lock %s stays taken until the session ends, ZooKeeper refuses to delete %s: %w", l.dir, a.path, err)
}

// lose declares the hold lost. A znode that may still be there, because it could merely not be
// read, is deleted.
func (a *acquisition) lose(reason error) error {
	l := a.lock
	l.mu.Lock()
	a.phase = over
	close(a.lost)
	l.mu.Unlock()
	switch {
	case reason == errDisplaced:
		return ErrLost
	case errors.Is(reason, ErrClosed):
		return errLostByClose
	}
	l.remove(context.Background(), a.path)
	return fmt.Errorf("%w: %w", ErrLost, reason)
}

// withdraw removes the znode of an acquisition that came to nothing, whether it is known where it
// is or not. It gives up only when the connection is closed, which ends the session, or when
// ZooKeeper refuses, which is the end of its means.
func (a *acquisition) withdraw() {
	l, ctx := a.lock, context.Background()
	if a.path == "" {
		l.sweep(ctx, l.dir, lockPrefix, a.guid)
		return
	}
	l.remove(ctx, a.path)
}

// grant makes the hold known, unless the caller has gone away.
func (a *acquisition) grant(first place) bool {
	l := a.lock
	l.mu.Lock()
	granted := a.phase == contending
	if granted {
		a.phase, a.granted, a.token = held, true, first.czxid
	}
	l.mu.Unlock()
	if granted && l.listener.Acquired != nil {
		l.listener.Acquired()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	a.settle()
	return granted
}

// abandon is called by a caller that gives up. It has no effect on a lock that was just granted.
func (a *acquisition) abandon(reason error) {
	a.lock.mu.Lock()
	defer a.lock.mu.Unlock()
	if a.phase == contending {
		a.phase, a.err = over, reason
		a.settle()
	}
}

func (a *acquisition) fail(err error) {
	a.lock.mu.Lock()
	defer a.lock.mu.Unlock()
	if a.phase == contending {
		a.phase, a.err = over, err
	}
	a.settle()
}

// settle lets the caller of Lock return; lock.mu is held.
func (a *acquisition) settle() {
	if !a.reply {
		a.reply = true
		close(a.settled)
	}
}

// finish records how a hold ended and tells the listener.
func (a *acquisition) finish(err error) {
	l := a.lock
	l.mu.Lock()
	a.phase, a.err = over, err
	l.mu.Unlock()
	if (err == nil || errors.Is(err, ErrLost)) && l.listener.Released != nil {
		l.listener.Released()
	}
}

// end is the last act of the goroutine. Whatever is still open then is so because the client's
// process was ended in the middle of a call.
func (a *acquisition) end() {
	a.fail(ErrClosed)
	a.lock.mu.Lock()
	defer a.lock.mu.Unlock()
	if a.phase != over {
		a.phase, a.err = over, errLostByClose
		close(a.lost)
	}
	a.release()
	close(a.ended)
}

// outcome is what Lock and TryLock return.
func (a *acquisition) outcome() (bool, error) {
	a.lock.mu.Lock()
	defer a.lock.mu.Unlock()
	switch {
	case a.granted:
		return true, nil
	case a.err == errBusy:
		return false, nil
	case errors.Is(a.err, context.Canceled), errors.Is(a.err, context.DeadlineExceeded), errors.Is(a.err, ErrClosed):
		return false, a.err
	}
	return false, fmt.Errorf("recipes: lock %s cannot be acquired: %w", a.lock.dir, a.err)
}
