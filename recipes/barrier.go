package recipes

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"
)

// What the znode of a [Barrier] holds.
const (
	gateOpen = "open"
	gateShut = "shut"
)

// Barrier is a gate: while it is shut, all clients that come to it wait; when it is opened, they go through. Any
// client may shut and open it, any number of times. After ZooKeeper's recipe "Barriers" (ZooKeeper Recipes and
// Solutions), with the changes below.
//
// # Znodes
//
// The barrier is one persistent znode, whose data are "shut" or "open". A missing one is open; the first Shut creates
// it, with its parents, and it must not be removed while the barrier is in use. Every change is made on condition of
// the version that was read and turns the one into the other.
//
// # Promises
//
// The barrier is linearizable: Shut and Open take effect once, at one moment between call and return, and Wait
// returns nil only if the barrier was open at a moment during the call. So a Wait that begins after a Shut has
// returned does not get through before the next Open is called.
//
// Progress: a waiter goes through when the barrier is opened, unless it is shut again before the waiter has seen it
// open. (To be sure that all waiters pass use a new barrier for each occasion, or a [DoubleBarrier].) A barrier
// outlives the process that has shut it, and stays shut until another opens it.
//
// # Cost
//
// Wait takes two requests (sync, which is a transaction unless [WithSync] is given, and read with watch) and one for
// each change of the barrier while it waits. Shut and Open take three (a transaction, read, write), or two if there is
// nothing to do. Every change wakes all that wait at that time, and each reads once: that is what a barrier is for.
//
// # Errors
//
// Wait returns the context's error when that ended. Shut and Open then return it too, or, when the change was under
// way, an [*UnknownOutcomeError]; both may be called again: they do nothing if there is nothing to do. A lost reply
// is no error: what the znode says afterwards reports whether the barrier was as wanted at a moment during the call.
//
// # Wrong versions that tempt
//
//   - A znode that exists while the barrier is shut, deleted to open it. When the reply to the delete is lost and the
//     delete repeated, it opens a barrier that another has shut meanwhile. And the watch of exists on a missing znode
//     stays for ever.
//   - Reading without sync: a server that lags lets somebody through after the barrier was shut.
//   - Going through because an event came: a session event is none, and the barrier may have been shut again.
//
// A Barrier may be used from several goroutines.
type Barrier struct {
	retryConn
	path string
}

// NewBarrier returns the barrier at path.
func NewBarrier(conn Conn, path string, opts ...Option) *Barrier {
	return &Barrier{newRetryConn(conn, opts...), path}
}

// Shut shuts the barrier: clients that come from now on wait.
func (b *Barrier) Shut(ctx context.Context) error { return b.change(ctx, "shut", gateShut) }

// Open opens the barrier: all that wait go through.
func (b *Barrier) Open(ctx context.Context) error { return b.change(ctx, "open", gateOpen) }

// Wait waits until the barrier is open, see [Barrier] for the errors.
func (b *Barrier) Wait(ctx context.Context) error {
	err := perform(ctx, func(*operation) error { return b.wait(ctx) })
	return explain(err, "cannot wait at barrier %s", b.path)
}

// wait looks after each event whether the barrier is open. Every state that it sees in the session of the sync is not
// older than that, so the barrier was in it at a moment during the call.
func (b *Barrier) wait(ctx context.Context) error {
	var last lookout
	session := int64(0)
	for {
		if session == 0 || session != b.conn.SessionID() {
			session = b.conn.SessionID()
			if err := b.sync(ctx, b.path); err != nil {
				return err
			}
		}
		var err error
		if last, err = b.look(ctx, last, b.path); err != nil {
			return err
		}
		switch {
		case session == 0 || session != b.conn.SessionID():
			last.event = nil // read by a session that knows nothing of the sync
		case last.missing() || string(last.data) != gateShut:
			return nil
		default:
			err = awaitAny(ctx, &last)
		}
		if err != nil {
			return err
		}
	}
}

func (b *Barrier) change(ctx context.Context, name, to string) error {
	err := perform(ctx, func(op *operation) error {
		for {
			if done, err := b.turn(ctx, op, name, to); done || err != nil {
				return err
			}
		}
	})
	return explain(err, "cannot %s barrier %s", name, b.path)
}

// turn reads the barrier and, unless it is as wanted, changes it; false if it has to be read again.
//
// A barrier that was not as wanted, and of which the version has changed since, was as wanted in between, for every
// change turns it: the caller's change took effect right after that one, if it was not that one. So it does not
// matter whose change it was when a reply was lost.
func (b *Barrier) turn(ctx context.Context, op *operation, name, to string) (done bool, err error) {
	data, stat, err := b.getAfter(ctx, b.commit, b.path)
	missing := errors.Is(err, zk.ErrNoNode)
	if err != nil && !missing {
		return false, err
	}
	if missing {
		data = []byte(gateOpen)
	}
	if (string(data) == gateShut) == (to == gateShut) {
		return true, nil
	}
	if !op.begin(UnknownOutcomeError{Op: name, Path: b.path}) {
		return false, ctx.Err()
	}
	_, err = b.persist(ctx, func() error { return b.write(missing, to, stat) })
	return b.written(ctx, op, err)
}

func (b *Barrier) write(missing bool, to string, stat *zk.Stat) (err error) {
	if missing {
		_, err = b.conn.Create(b.path, []byte(to), zk.FlagPersistent, b.settings.ACL)
	} else {
		_, err = b.conn.Set(b.path, []byte(to), stat.Version)
	}
	return err
}

// written reads the answer to a write.
func (b *Barrier) written(ctx context.Context, op *operation, err error) (done bool, _ error) {
	switch {
	case errors.Is(err, zk.ErrBadVersion), errors.Is(err, zk.ErrNodeExists):
		return true, nil
	case errors.Is(err, zk.ErrNoNode):
		op.refused()
		return false, b.ensure(ctx, parent(b.path))
	}
	return err == nil, op.answered(err)
}
