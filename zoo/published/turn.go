package published

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
)

// obstacle names what has to go first, "" if nothing has to. It is told the line and where the own znode is in it.
type obstacle func(line []string, own int) string

// rightBefore is the obstacle of a client that waits for its predecessor.
func rightBefore(line []string, own int) string {
	if own == 0 {
		return ""
	}
	return line[own-1]
}

// waitTurn queues until nothing has to go first.
func (c *contender) waitTurn(ctx context.Context, inTheWay obstacle) error {
	return c.waitTurnBy(ctx, inTheWay, c.deletion(ctx))
}

// deletion waits until a znode may be gone; then the line is read again.
func (c *contender) deletion(ctx context.Context) func(name string) (done bool, err error) {
	return func(name string) (bool, error) { return false, c.awaitDeletion(ctx, name) }
}

// waitTurnBy is waitTurn with a way of its own to wait for an obstacle. The line is read again after that, unless
// done says that the turn has come.
func (c *contender) waitTurnBy(ctx context.Context, inTheWay obstacle,
	await func(name string) (done bool, err error)) error {
	if err := c.enlist(ctx); err != nil {
		return err
	}
	_, err := c.reachTurn(ctx, inTheWay, await)
	return err
}

// reachTurn is waitTurnBy in the line. It returns a watch on the own znode, nil if await was done.
func (c *contender) reachTurn(ctx context.Context, inTheWay obstacle,
	await func(name string) (done bool, err error)) (watch <-chan zk.Event, err error) {
	for {
		line, own, err := c.line(ctx)
		if err != nil {
			return nil, err
		}
		name := ""
		if own >= 0 {
			name = inTheWay(line, own)
		}
		if name == "" { // whose way is free may as well be first
			watch, held, err := c.first(ctx, min(own, 0))
			if held || err != nil {
				return watch, err
			}
			continue
		}
		if done, err := await(name); done || err != nil {
			return nil, err
		}
	}
}

// Waiter is a lock, or a candidate for leader, that creates its znode and waits until nothing has to
// go first.
type Waiter struct {
	contender
	inTheWay obstacle
	// await waits for an obstacle. The line is read again after that, unless done says that the turn
	// has come.
	await func(ctx context.Context, name string) (done bool, err error)
}

// newWaiter returns one that waits until the znode right before its own may be gone.
func newWaiter(client recipes.Conn, dir, prefix, infix string) *Waiter {
	w := &Waiter{contender: newContender(client, dir, prefix, infix), inTheWay: rightBefore}
	w.await = func(ctx context.Context, name string) (bool, error) { return false, w.awaitDeletion(ctx, name) }
	return w
}

// Lock waits until the lock is held.
func (w *Waiter) Lock(ctx context.Context) error {
	return w.orWithdraw(w.waitTurnBy(ctx, w.inTheWay, func(name string) (bool, error) { return w.await(ctx, name) }))
}

// Campaign waits until the candidate leads.
func (w *Waiter) Campaign(ctx context.Context) error { return w.Lock(ctx) }

// RWWaiter is a read/write lock of that kind: read and write say how its znode is called, and what
// has to go first.
type RWWaiter struct {
	*Waiter
	read, write func()
}

// RLock waits until the lock is held for reading.
func (w RWWaiter) RLock(ctx context.Context) error {
	w.read()
	return w.Waiter.Lock(ctx)
}

// Lock waits until the lock is held for writing.
func (w RWWaiter) Lock(ctx context.Context) error {
	w.write()
	return w.Waiter.Lock(ctx)
}

// lockAround acquires a lock, does something and releases it.
func lockAround(ctx context.Context, lock *contender, do func() error) error {
	err := lock.waitTurn(ctx, rightBefore)
	if err == nil {
		err = do()
	}
	return errors.Join(err, lock.withdraw())
}

// hearOf waits for an event of a znode; gone tells that it was not there.
func (c *contender) hearOf(ctx context.Context, name string) (event zk.Event, gone bool, err error) {
	var watch <-chan zk.Event
	err = retry(ctx, func() (err error) { _, _, watch, err = c.client.GetW(c.dir + "/" + name); return err })
	if errors.Is(err, zk.ErrNoNode) {
		return zk.Event{}, true, nil
	}
	if err == nil {
		event, err = c.hear(ctx, watch)
	}
	return event, false, err
}

// hearByExists is hearOf by a request that does not look whether the znode is there: if it is not, there may never be
// an event.
func (c *contender) hearByExists(ctx context.Context, name string) (event zk.Event, err error) {
	var watch <-chan zk.Event
	err = retry(ctx, func() (err error) { _, _, watch, err = c.client.ExistsW(c.dir + "/" + name); return err })
	if err == nil {
		event, err = c.hear(ctx, watch)
	}
	return event, err
}

// awaitDeletion waits until a znode may be gone.
func (c *contender) awaitDeletion(ctx context.Context, name string) error {
	_, _, err := c.hearOf(ctx, name)
	return err
}

// hear waits for an event. The end of the client is an error.
func (c *contender) hear(ctx context.Context, watch <-chan zk.Event) (zk.Event, error) {
	event, err := awaitAny(ctx, watch)
	if errors.Is(event.Err, zk.ErrClosing) {
		err = event.Err
	}
	return event, err
}

// orWithdraw leaves the line if something has failed.
func (c *contender) orWithdraw(err error) error {
	if err != nil {
		err = errors.Join(err, c.withdraw())
	}
	return err
}

// owner is a user of a lock or an election, which knows whether it holds it.
type owner struct{ hold atomic.Pointer[hold] }

// IsOwner reports whether there is a hold, as far as the client knows.
func (o *owner) IsOwner() bool { return o.hold.Load().lasts() }

// begin begins a hold.
func (o *owner) begin() *hold {
	h := new(hold)
	o.hold.Store(h)
	return h
}

// hold is what a client knows of one hold of a lock.
type hold struct{ over atomic.Bool }

// keep ends the hold with the first event of the own znode: it is gone, or the session.
func (h *hold) keep(watch <-chan zk.Event) {
	<-watch
	h.over.Store(true)
}

// lasts reports whether there is a hold that is not over.
func (h *hold) lasts() bool { return h != nil && !h.over.Load() }
