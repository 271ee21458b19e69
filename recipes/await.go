package recipes

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// idleWatch is the watch that the waiting operations of a store share. go-zookeeper cannot remove a watch, so one
// that an operation leaves behind when it gives up is kept for the next.
type idleWatch struct {
	mu   sync.Mutex // never held across a call to ZooKeeper
	last <-chan zk.Event
}

// current returns the watch of an earlier operation if it has not fired. One waiter receives its event; the others
// wake because the channel is closed then.
func (w *idleWatch) current() <-chan zk.Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-w.last:
		w.last = nil
	default:
	}
	return w.last
}

func (w *idleWatch) keep(watch <-chan zk.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = watch
}

// await returns when the children of the store may be what is waited for.
func (s *store) await(ctx context.Context, enough func(names []string) bool) error {
	watch, err := s.watchUntil(ctx, enough)
	if err != nil || watch == nil {
		return err
	}
	if e, fired := firstEvent(watch); fired {
		return closing(e)
	}
	again := newTimer(s.conn, lookAgain)
	defer again.Stop()
	select {
	case e := <-watch:
		return closing(e)
	case <-again.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// lookAgain is how long a waiting operation trusts its watch. There is one way to miss an event for good: it is lost
// with its connection, and the client re-arms its watch by setWatches, which compares the parent's pzxid; but a
// create that wraps the sequence number does not move pzxid (DataTree.createNode), so the server finds nothing new.
const lookAgain = 30 * time.Second

// watchUntil returns a watch that was set before the children were seen and were not enough, so that it fires at the
// next change; nil if they are enough. A watch that an earlier operation has left and that has not fired is as good
// as a new one.
func (s *store) watchUntil(ctx context.Context, enough func(names []string) bool) (<-chan zk.Event, error) {
	watch, names, err := s.idle.current(), []string(nil), error(nil)
	if watch != nil {
		names, err = s.children(ctx, s.dir)
	} else {
		names, watch, err = s.childrenW(ctx, s.dir)
		s.idle.keep(watch)
	}
	if errors.Is(err, zk.ErrNoNode) {
		return nil, s.ensure(ctx, s.dir)
	}
	if err != nil || enough(names) {
		return nil, err
	}
	return watch, nil
}
