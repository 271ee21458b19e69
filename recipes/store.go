package recipes

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/internal/call"
)

// store is a directory into which a recipe puts items and from which it takes them.
type store struct {
	retryConn
	dir    string
	ledger ledger
	idle   idleWatch
}

// open sets up a store where it lies, since its ledger points to it.
func (s *store) open(conn Conn, dir string, opts []QueueOption) {
	s.retryConn, s.dir, s.ledger = newRetryConn(conn), dir, plain{s}
	for _, opt := range opts {
		opt.applyToStore(s)
	}
}

// take reads an item and deletes it. taken is false if it was gone.
func (s *store) take(ctx context.Context, op *operation, name, path string) (data []byte, taken bool, err error) {
	data, _, err = s.get(ctx, path)
	if errors.Is(err, zk.ErrNoNode) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	taken, err = s.ledger.remove(ctx, op, UnknownOutcomeError{Op: name, Path: path, Data: data})
	return data, taken, err
}

// offer adds an item whose name begins with prefix.
func (s *store) offer(ctx context.Context, prefix string, data []byte) error {
	err := perform(ctx, func(op *operation) error { return s.ledger.offer(ctx, op, prefix, data) })
	return s.explain("offer", err)
}

// takeWaiting removes an item, and waits as long as there is none.
func (s *store) takeWaiting(ctx context.Context, there func(names []string) bool, remove remover) ([]byte, error) {
	data, err := carryOut(ctx, func(op *operation) ([]byte, error) {
		for {
			data, err := remove(op)
			if err != errGone && err != ErrEmpty {
				return data, err
			}
			if err := s.await(ctx, there); err != nil {
				return nil, err
			}
		}
	})
	return data, s.explain("take", err)
}

// remover removes the first item. It returns ErrEmpty if there is none, errGone if others have taken it.
type remover func(op *operation) ([]byte, error)

// untilSure looks again until the error is not errGone.
func untilSure[T any](look func() (T, error)) (T, error) {
	for {
		if result, err := look(); err != errGone {
			return result, err
		}
	}
}

func (s *store) explain(name string, err error) error {
	if err == nil {
		return nil // before the words for an error are put together
	}
	return explain(err, "%s on queue %s", name, s.dir)
}

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
	if e, is := fired(watch); is {
		return closing(e)
	}
	again := call.NewTimer(s.conn, lookAgain)
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
