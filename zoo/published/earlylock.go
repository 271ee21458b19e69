package published

import (
	"cmp"
	"context"
	"errors"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
)

// EarlyLock is a lock whose client gets in line as soon as it is connected: it reads the events of the connection, and
// has the first create under way when the session begins. After a pattern of Go services over ZooKeeper, which register
// themselves where the event is zk.StateConnected: that is a connection, and only zk.StateHasSession is a session.
type EarlyLock struct {
	contender
	bugs   Bugs
	events <-chan zk.Event // since the client began to connect; nil once the first znode was asked for
}

// NewEarlyLock returns a lock; nothing is sent before it is used.
func NewEarlyLock(client recipes.Conn, dir string, bugs Bugs) *EarlyLock {
	return &EarlyLock{newContender(client, dir, "lock-", "-", bugs), bugs, recipes.SessionEvents(client)}
}

// Lock waits until the lock is held.
func (l *EarlyLock) Lock(ctx context.Context) error { return l.orWithdraw(l.acquire(ctx)) }

func (l *EarlyLock) acquire(ctx context.Context) error {
	if err := l.getInLine(ctx); err != nil {
		return err
	}
	for {
		names, own, err := l.line(ctx)
		if err != nil {
			return err
		}
		if own > 0 {
			if err := l.awaitDeletion(ctx, names[own-1]); err != nil {
				return err
			}
			continue
		}
		if _, held, err := l.first(ctx, own); held || err != nil {
			return err
		}
	}
}

// getInLine creates the znode: the first time in the background, perhaps before there is a session.
func (l *EarlyLock) getInLine(ctx context.Context) error {
	events := l.events
	if l.events = nil; events == nil {
		return l.enlist(ctx)
	}
	asked, places, done := 0, make(chan early, placesMax), make(chan zk.Event, placesMax)
	for len(places) == 0 {
		event, err := awaitAny(ctx, events, done)
		if event.State == zk.StateHasSession || event.State == zk.StateExpired { // there is one, or there was
			break
		}
		if event.Type == 0 { // the channel is closed
			err = cmp.Or(err, zk.ErrClosing)
		}
		if err != nil {
			return l.leave(places, asked, err)
		}
		// BUG: H1 that is a connection, not a session: if the answer to the handshake is lost it comes twice
		if event.State == zk.StateConnected && (asked == 0 || l.bugs.Has("H1")) {
			asked++
			go l.ask(ctx, places, done)
		}
	}
	place := <-places
	l.contender = place.contender
	return place.err
}

// early is a place in the line that was asked for before there was a session.
type early struct {
	contender
	err error
}

// placesMax is more than anybody asks for.
const placesMax = 100

// ask creates a znode.
func (l *EarlyLock) ask(ctx context.Context, places chan<- early, done chan<- zk.Event) {
	place := early{contender: newContender(l.client, l.dir, "lock-", "-", l.bugs)}
	defer func() { // also of a process that dies
		places <- place
		done <- zk.Event{Type: zk.EventNodeCreated}
	}()
	place.err = place.enlist(ctx)
}

// leave gives up the places that were asked for.
func (l *EarlyLock) leave(places <-chan early, asked int, err error) error {
	for range asked {
		place := <-places
		err = errors.Join(err, place.withdraw())
	}
	return err
}
