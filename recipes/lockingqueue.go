package recipes

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/internal/call"
)

// LockingQueue is a first-in first-out queue whose items are claimed, processed and then removed, so that the death
// of a consumer costs no item: delivery is at least once, where [Queue] delivers at most once.
//
// # Znodes
//
// An item is a persistent sequential znode dir/qn-<guid>-<sequence>, as in a Queue. A claim on it is the ephemeral
// dir/taken-<guid>, with the guid of the item in its name and one of its own in its data: there is one at most, and
// it goes when its consumer's session does. Each claim writes the item's data anew, which counts its version up; the
// finish of a claim names the version that the claim made, so that the finish of an old claim cannot be mistaken for
// that of a new one. A missing dir is an empty queue, and other children are ignored.
//
// # Promises
//
// An item is claimed by one session at a time. A claim ends when it is finished, or with its session; in the latter
// case the item is free again, at its old place. A claim gets the oldest item that was free at some moment during the
// call; [ErrEmpty] means that none was. An item that was offered is claimed again and again until some claim on it is
// done: none is lost. After [Claim.Done] has returned nil the item is not given to any consumer.
//
// A consumer whose session has ended may not know it: as with a [Lock], it may still be at work while the next has
// claimed the same item, and it may have done its work and died before saying so. Hence
// [Claim.Token]: it is the same at each delivery of an item, and no other item has it. A consumer that records the
// token together with the effect, in one transaction, and skips what is recorded, has the effect exactly once.
//
// # Cost
//
// Offer is one request. Claim is five (sync, which is a transaction unless [WithSync] is given, list, read, claim,
// watch), and four more each time another client was faster: with k consumers that are always busy that is up to k
// times for each item, so prefer few consumers that work long. Done and Release are one. Every offer, claim and finish
// wakes all that wait for an item; each then lists the directory.
//
// # Errors
//
// Offer has unknown outcomes like [Queue.Offer], and [WithReceipts] resolves them alike. A Claim never has: a claim
// whose reply was lost is looked for, and one whose caller has gone away is given up in the background. [ErrLost]
// from Done or Release means that the claim had ended before, or may have: another consumer has the item, or had it.
// There is nothing to undo; the token takes care of it.
//
// # Wrong versions that tempt
//
//   - Removing the item first and processing it then: it dies with its consumer.
//   - A lock around a plain queue: only one consumer works at a time.
//   - Finishing by the names alone: a consumer that slept through the end of its session removes the claim of its
//     successor.
//   - Waiting for events on a watch that was not set again after a reconnect, or going on only at events of the child
//     list (kazoo's LockingQueue stops there for ever).
//
// A LockingQueue may be used from several goroutines; a Claim belongs to one.
type LockingQueue struct{ store }

// NewLockingQueue returns a queue in the directory dir, which must not be that of another recipe.
func NewLockingQueue(conn Conn, dir string, opts ...QueueOption) *LockingQueue {
	q := &LockingQueue{}
	q.open(conn, dir, opts)
	return q
}

// Offer appends an item. It takes effect when ZooKeeper creates the znode.
func (q *LockingQueue) Offer(ctx context.Context, data []byte) error {
	return q.offer(ctx, itemPrefix, data)
}

// Claim claims the oldest free item, and waits for one as long as there is none. When ctx ends first nothing stays
// claimed; what has to be given up for that is given up in the background.
func (q *LockingQueue) Claim(ctx context.Context) (*Claim, error) {
	return q.claim(ctx, false)
}

// TryClaim claims the oldest free item, or returns [ErrEmpty] when all are claimed or there is none.
func (q *LockingQueue) TryClaim(ctx context.Context) (*Claim, error) {
	return q.claim(ctx, true)
}

func (q *LockingQueue) claim(ctx context.Context, try bool) (*Claim, error) {
	c := &Claim{store: &q.store, holder: holder{retryConn: q.retryConn, noun: "a claim on queue", path: q.dir}}
	got, err := c.acquire(ctx, c, exclusive, try)
	switch {
	case err != nil:
		return nil, err
	case !got:
		return nil, ErrEmpty
	}
	return c, nil
}

// Claim is an item that its holder may process, as long as it is not lost ([Claim.Lost]).
type Claim struct {
	holder
	store *store

	// Written by the goroutine of the acquisition before the claim is granted.
	guid    string // of this claim, "" as long as none can have been made
	item    member
	data    []byte
	version int32 // of the item, since it was claimed

	done bool // guarded by holder.mu: the item is to be removed, not given back
}

// Data returns the item's data.
func (c *Claim) Data() []byte { return c.data }

// Token identifies the item: 32 hexadecimal digits, the same at each delivery.
func (c *Claim) Token() string { return c.item.guid }

// Attempt counts how often the item has been claimed, this time included. A consumer may put aside what comes back
// too often.
func (c *Claim) Attempt() int { return int(c.version) }

// Done removes the item and the claim, both or neither. It returns nil when they are gone by this call, [ErrLost]
// when the claim had or may have ended before, and [ErrNotHeld] when the claim was finished already. If ctx ends
// first, the removal goes on in the background.
func (c *Claim) Done(ctx context.Context) error {
	c.mu.Lock()
	c.done = true
	c.mu.Unlock()
	return c.finished(c.unlock(ctx, exclusive))
}

// Release gives the item back: it is free again, at its old place. The rest is as for [Claim.Done].
func (c *Claim) Release(ctx context.Context) error {
	return c.finished(c.unlock(ctx, exclusive))
}

func (c *Claim) finished(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("recipes: claim of %s: %w", c.itemPath(), err)
}

func (c *Claim) itemPath() string  { return join(c.store.dir, c.item.name) }
func (c *Claim) claimPath() string { return join(c.store.dir, takenPrefix+c.item.guid) }

// takenPrefix begins the names of claims.
const takenPrefix = "taken-"

// contend implements acquirer.
func (c *Claim) contend(ctx context.Context, try bool) (ticket, error) {
	for {
		err := c.takeFirst(ctx)
		switch {
		case err == ErrEmpty && try:
			return ticket{}, errBusy
		case err == ErrEmpty:
			err = c.store.await(ctx, anyFree)
		case err == nil:
			var held ticket
			if held, err = c.verify(ctx); err == nil {
				return held, nil
			}
		}
		if err != nil && err != errGone && err != errDisplaced {
			return ticket{}, err
		}
		c.guid = "" // it is certain that there is no claim
	}
}

// takeFirst claims the oldest free item; errGone if another client was faster.
func (c *Claim) takeFirst(ctx context.Context) error {
	s, session := c.store, c.store.conn.SessionID()
	names, err := s.syncedChildren(ctx, s.dir)
	if err != nil {
		return err
	}
	free := freeItems(names)
	if len(free) == 0 {
		return ErrEmpty
	}
	if free, err = s.ordered(ctx, s.dir, session, free); err != nil {
		return err
	}
	if len(free) == 0 {
		return errGone
	}
	return c.mark(ctx, free[0])
}

// freeItems returns the items of a list on which it shows no claim. A list is the state of one moment, so these were
// free at the same moment.
func freeItems(names []string) []member {
	taken := make(map[string]bool)
	for _, name := range names {
		taken[name] = true
	}
	return slices.DeleteFunc(parseMembers(names, itemPrefix), func(m member) bool { return taken[takenPrefix+m.guid] })
}

func anyFree(names []string) bool { return len(freeItems(names)) > 0 }

// mark makes the claim. After a lost reply it looks whether it was made.
func (c *Claim) mark(ctx context.Context, item member) error {
	s, pace := c.store, c.store.retries()
	data, stat, err := s.get(ctx, join(s.dir, item.name))
	if err != nil {
		return orGone(err)
	}
	c.item, c.data, c.version, c.guid = item, data, stat.Version+1, NewGUID(s.conn)
	claim := &zk.CreateRequest{Path: c.claimPath(), Data: []byte(c.guid), Acl: s.settings.ACL, Flags: zk.FlagEphemeral}
	count := &zk.SetDataRequest{Path: c.itemPath(), Data: data, Version: stat.Version}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		_, err := s.conn.Multi(claim, count)
		fate := call.FateOf(err)
		if fate == call.Answered {
			return orGone(err)
		}
		if err := pace.Wait(ctx, err); err != nil {
			return err
		}
		if fate != call.Unsent {
			return c.look(ctx)
		}
	}
}

// orGone says of the answers that mean that another client was faster just that.
func orGone(err error) error {
	if errors.Is(err, zk.ErrNodeExists) || errors.Is(err, zk.ErrBadVersion) || errors.Is(err, zk.ErrNoNode) {
		return errGone
	}
	return err
}

// look reports whether the claim was made after all: nil, or errGone. What is not there after a commit is never made, see
// [retryConn.find], or ends with the session that made it.
func (c *Claim) look(ctx context.Context) error {
	data, _, err := c.store.getAfter(ctx, c.store.commit, c.claimPath())
	switch {
	case err == nil && string(data) == c.guid:
		return nil
	case err == nil:
		return errGone
	}
	return orGone(err)
}

// verify implements acquirer.
func (c *Claim) verify(ctx context.Context) (ticket, error) {
	held, err := c.store.own(ctx, c.claimPath())
	if err == nil && string(held.data) != c.guid {
		return ticket{}, errDisplaced
	}
	return held, err
}

// leave implements acquirer. The version says that the item has not been claimed since.
func (c *Claim) leave(ctx context.Context) (unsure bool, err error) {
	c.mu.Lock()
	done := c.done
	c.mu.Unlock()
	item := any(&zk.CheckVersionRequest{Path: c.itemPath(), Version: c.version})
	if done {
		item = &zk.DeleteRequest{Path: c.itemPath(), Version: c.version}
	}
	claim := &zk.DeleteRequest{Path: c.claimPath(), Version: -1}
	unsure, err = c.store.persist(ctx, func() error { _, err := c.store.conn.Multi(claim, item); return err })
	if errors.Is(err, zk.ErrBadVersion) {
		err = zk.ErrNoNode
	}
	return unsure, err
}

// withdraw implements acquirer.
func (c *Claim) withdraw(ctx context.Context) error {
	if c.guid == "" {
		return nil
	}
	err := c.look(ctx)
	if err == nil {
		_, err = c.leave(ctx)
	}
	if err == errGone {
		return nil
	}
	return err
}
