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

// acquisition is one try to get a lock and, if it succeeds, the hold. One goroutine makes all its calls to ZooKeeper,
// so that callers can leave while one hangs.
//
// Invariant: at most one acquisition of a holder makes calls. Each waits for the end of the one before, which may
// have a znode to remove that would be in its way.
type acquisition struct {
	holder   *holder
	acquirer acquirer
	try      bool
	before   <-chan struct{}
	settled  chan struct{} // closed when the caller of Lock may return
	ended    chan struct{} // closed when the goroutine ends: nothing is left of it but the result
	lost     chan struct{}

	// Guarded by holder.mu.
	mode    mode
	phase   phase
	granted bool // was or is held
	given   bool // Unlock was called
	reply   bool // settled is closed
	err     error
	stays   error // why the znode may stay until the session ends
	token   int64
	session int64           // of the hold
	holding context.Context // of the hold: it ends when that is to be released, …
	release func()          // by this
}

// acquirer is how an acquisition comes to the znode that is its place, and leaves it. Its methods are called by the
// goroutine of the acquisition only.
type acquirer interface {
	// contend waits until the place is the own one. With try it does not wait for other users, but returns errBusy.
	contend(ctx context.Context, try bool) (ticket, error)
	// verify reads the place that was granted; errDisplaced if it is no longer the own one.
	verify(ctx context.Context) (ticket, error)
	// leave deletes the znode of a place that was granted. With unsure, zk.ErrNoNode may be the work of an earlier
	// attempt.
	leave(ctx context.Context) (unsure bool, err error)
	// withdraw removes the znode, even if its path is not known. Its error says why that cannot be done.
	withdraw(ctx context.Context) error
}

// ticket is the own znode, in a state in which it means that the lock is held, seen under the session that owns it.
type ticket struct {
	czxid   int64
	session int64
	data    []byte
	watch   <-chan zk.Event // fires when the znode changes or is gone
}

// own reads a znode that is believed to be the own one, with a watch; errDisplaced if it is gone or belongs to
// another session.
func (l *retryConn) own(ctx context.Context, path string) (ticket, error) {
	data, stat, watch, err := l.getW(ctx, path)
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return ticket{}, errDisplaced
	case err != nil:
		return ticket{}, err
	case stat.EphemeralOwner != l.conn.SessionID():
		return ticket{}, errDisplaced
	}
	return ticket{czxid: stat.Czxid, session: stat.EphemeralOwner, data: data, watch: watch}, nil
}

var (
	// errDisplaced: the own znode is gone, or belongs to a session that is.
	errDisplaced = errors.New("displaced")
	// errBusy: others are in the way and the caller does not want to wait.
	errBusy = errors.New("busy")

	errLostByClose = fmt.Errorf("%w: %w", ErrLost, ErrClosed)
)

// run is the goroutine. It ends early, by runtime.Goexit in a call, when a simulator ends the client's process.
func (a *acquisition) run(ctx context.Context) {
	defer a.end()
	if !a.await(ctx) {
		return
	}
	first, err := a.acquirer.contend(ctx, a.try)
	if err == nil && a.grant(first) {
		a.finish(a.keep(first))
		return
	}
	if errors.Is(err, ErrNoAnswer) {
		a.fail(err) // the caller need not wait for what is most likely in vain
	}
	if err != ErrClosed {
		a.stay(a.acquirer.withdraw(context.Background()))
	}
	a.fail(err)
}

// await waits for the end of the acquisition before this one.
func (a *acquisition) await(ctx context.Context) bool {
	if a.before != nil {
		select {
		case <-a.before:
		case <-ctx.Done():
			a.fail(ctx.Err())
			<-a.before // ended must not be closed before
		}
	}
	a.before = nil // let the chain of acquisitions be collected
	if err := ctx.Err(); err != nil {
		a.fail(err)
		return false
	}
	return true
}

// closing returns ErrClosed for the event that watches get when their connection is closed.
func closing(e zk.Event) error {
	if e.Type == zk.EventNotWatching && errors.Is(e.Err, zk.ErrClosing) {
		return ErrClosed
	}
	return nil
}

// ending says what an event on the own znode means for the hold: errDisplaced when the znode is gone, which is for
// good, or the session is.
func ending(e zk.Event) error {
	if e.Type == zk.EventNodeDeleted || errors.Is(e.Err, zk.ErrSessionExpired) {
		return errDisplaced
	}
	return closing(e)
}

// keep watches over the hold until it is released or lost, and says how it ended: nil, ErrLost, or why ZooKeeper
// refused to delete the znode.
func (a *acquisition) keep(held ticket) error {
	for {
		e, news := fired(held.watch)
		if !news {
			select {
			case e = <-held.watch:
			case <-a.holding.Done():
				return a.give(held)
			}
		}
		err := ending(e)
		if err == nil {
			var next ticket
			if next, err = a.acquirer.verify(a.holding); err == nil {
				held = next
			}
		}
		switch {
		case a.holding.Err() != nil:
			return a.give(held)
		case err != nil:
			return a.lose(err)
		}
	}
}

// give deletes the znode, however often that takes.
//
// ErrNoNode after an attempt without an answer means that the attempt was carried out, unless the session has been
// replaced meanwhile: then the expiry may have come first.
func (a *acquisition) give(held ticket) error {
	g := a.holder
	unsure, err := a.acquirer.leave(context.Background())
	a.stay(err)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, zk.ErrNoNode) && unsure && g.conn.SessionID() == held.session:
		return nil
	case errors.Is(err, zk.ErrNoNode):
		return ErrLost
	case errors.Is(err, ErrClosed), errors.Is(err, ErrNoAnswer):
		return fmt.Errorf("%w: %w", ErrLost, err)
	}
	return fmt.Errorf("recipes: %s %s stays taken until the session ends, ZooKeeper refuses to delete its znode: %w",
		g.noun, g.path, err)
}

// lose declares the hold lost. A znode that may still be there, because it could not be read, is deleted.
func (a *acquisition) lose(reason error) error {
	g := a.holder
	g.mu.Lock()
	a.phase = over
	close(a.lost)
	g.mu.Unlock()
	switch {
	case reason == errDisplaced:
		return ErrLost
	case errors.Is(reason, ErrClosed):
		return errLostByClose
	}
	_, err := a.acquirer.leave(context.Background())
	a.stay(err)
	return fmt.Errorf("%w: %w", ErrLost, reason)
}

// stay notes why the znode could not be removed. It goes with a connection that is closed.
func (a *acquisition) stay(err error) {
	if errors.Is(err, zk.ErrNoNode) || errors.Is(err, ErrClosed) {
		return
	}
	a.holder.mu.Lock()
	defer a.holder.mu.Unlock()
	a.stays = err
}

// grant makes the hold known, unless the caller has left.
func (a *acquisition) grant(first ticket) bool {
	g := a.holder
	g.mu.Lock()
	granted := a.phase == contending
	if granted {
		a.phase, a.granted, a.token, a.session = held, true, first.czxid, first.session
		a.holding, a.release = context.WithCancel(context.Background())
	}
	g.mu.Unlock()
	if granted && g.listener.Acquired != nil {
		g.listener.Acquired()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	a.settle()
	return granted
}

// abandon is called by a caller that gives up. It has no effect on a lock that was just granted.
func (a *acquisition) abandon(reason error) {
	a.holder.mu.Lock()
	defer a.holder.mu.Unlock()
	if a.phase == contending {
		a.phase, a.err = over, reason
		a.settle()
	}
}

func (a *acquisition) fail(err error) {
	a.holder.mu.Lock()
	defer a.holder.mu.Unlock()
	if a.phase == contending {
		a.phase, a.err = over, err
	}
	a.settle()
}

// settle lets the caller of Lock return; holder.mu is held.
func (a *acquisition) settle() {
	if !a.reply {
		a.reply = true
		close(a.settled)
	}
}

// finish records how a hold ended and tells the listener.
func (a *acquisition) finish(err error) {
	g := a.holder
	g.mu.Lock()
	a.phase, a.err = over, err
	g.mu.Unlock()
	if (err == nil || errors.Is(err, ErrLost)) && g.listener.Released != nil {
		g.listener.Released()
	}
}

// end is the last act of the goroutine. What is still open then was left by a process that ended in the middle of a
// call.
func (a *acquisition) end() {
	a.fail(ErrClosed)
	a.holder.mu.Lock()
	defer a.holder.mu.Unlock()
	if a.phase != over {
		a.phase, a.err = over, errLostByClose
		close(a.lost)
	}
	if a.granted {
		a.release()
	}
	close(a.ended)
}

// outcome is what Lock and TryLock return.
func (a *acquisition) outcome() (bool, error) {
	a.holder.mu.Lock()
	defer a.holder.mu.Unlock()
	switch {
	case a.granted:
		return true, nil
	case a.err == errBusy:
		return false, nil
	case errors.Is(a.err, context.Canceled), errors.Is(a.err, context.DeadlineExceeded), errors.Is(a.err, ErrClosed):
		return false, a.err
	}
	return false, fmt.Errorf("recipes: %s %s cannot be acquired: %w", a.holder.noun, a.holder.path, a.err)
}
