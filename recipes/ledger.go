package recipes

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/internal/call"
)

// ledger makes changes and knows how to find out whether they were made. When it returns an error while the change is
// pending in the operation, the outcome is unknown and the error is why.
type ledger interface {
	// offer adds an item whose name begins with prefix.
	offer(ctx context.Context, op *operation, prefix string, data []byte) error
	// remove deletes an item and reports whether it was this call that did; false if it was gone.
	remove(ctx context.Context, op *operation, change UnknownOutcomeError) (bool, error)
}

// plain is the ledger without receipts.
type plain struct{ s *store }

// offer creates the item once and after a lost reply looks for it.
func (p plain) offer(ctx context.Context, op *operation, prefix string, data []byte) error {
	s, guid := p.s, NewGUID(p.s.conn)
	change := UnknownOutcomeError{Op: "offer", Path: join(s.dir, prefix+guid+"-"), Data: data}
	pace := s.retries()
	for vanished := 0; vanished < vanishMax; {
		if !op.begin(change) {
			return ctx.Err()
		}
		_, err := s.conn.Create(change.Path, data, zk.FlagSequence, s.settings.ACL)
		switch fate := call.FateOf(err); {
		case errors.Is(err, zk.ErrNoNode):
			op.refused()
			vanished++
			err = s.ensure(ctx, s.dir)
		case fate == call.Unsent:
			op.refused()
			err = pace.Wait(ctx, err)
		case fate == call.Answered:
			return op.answered(err)
		default:
			return p.look(ctx, op, prefix, guid, err)
		}
		if err != nil {
			return err
		}
	}
	return errVanishing(s.dir)
}

// look searches for an item whose create was lost. To find it is proof that it was created; not to find it proves
// nothing, since another may have taken it.
func (p plain) look(ctx context.Context, op *operation, prefix, guid string, lost error) error {
	if call.FateOf(lost) == call.Closed {
		return ErrClosed
	}
	names, err := p.s.find(ctx, p.s.dir, prefix, guid)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return lost
	}
	return nil
}

// remove repeats the delete until it is answered. One that succeeds proves that those before it were not carried out,
// for the name exists only once. ErrNoNode after one that was lost proves nothing: it may have been that one, or
// another client.
func (p plain) remove(ctx context.Context, op *operation, change UnknownOutcomeError) (bool, error) {
	pace := p.s.retries()
	var lost error
	for {
		if !op.begin(change) {
			return false, ctx.Err()
		}
		err := p.s.conn.Delete(change.Path, -1)
		switch fate := call.FateOf(err); {
		case fate == call.Answered && (err == nil || lost == nil):
			return removed(op.answered(err))
		case fate == call.Answered:
			return false, lost
		case fate != call.Unsent:
			lost = err
		case lost == nil:
			op.refused()
		}
		if err := pace.Wait(ctx, err); err != nil {
			return false, err
		}
	}
}

// removed reads the answer to a delete.
func removed(err error) (bool, error) {
	if errors.Is(err, zk.ErrNoNode) {
		return false, nil
	}
	return err == nil, err
}

// claimPrefix begins the names of the znodes that hold receipts. They lie in the queue's own directory, where the
// lists of items skip them, so that there is no second directory to create, protect and remove.
const claimPrefix = "claim-"

// receipts is the ledger that makes each change together with a note of its identity, in one multi. A multi is one
// transaction: both happen or neither does. So the note tells afterwards whether the change was made.
//
// Invariant: the holder of the turn knows the outcome of every change made before through this ledger, or nothing
// will ever ask for it. Hence one note suffices.
type receipts struct {
	s    *store
	turn turn // of whoever makes a change

	// Used by the holder of the turn.
	path    string // the ephemeral znode of the note, "" if there is none
	session int64  // that owns it, or a later one
}

func newReceipts(s *store) *receipts {
	return &receipts{s: s, turn: newTurn()}
}

func (r *receipts) offer(ctx context.Context, op *operation, prefix string, data []byte) error {
	path := join(r.s.dir, prefix+NewGUID(r.s.conn)+"-")
	change := UnknownOutcomeError{Op: "offer", Path: path, Data: data}
	request := &zk.CreateRequest{Path: path, Data: data, Acl: r.s.settings.ACL, Flags: zk.FlagSequence}
	return r.apply(ctx, op, change, request)
}

func (r *receipts) remove(ctx context.Context, op *operation, change UnknownOutcomeError) (bool, error) {
	return removed(r.apply(ctx, op, change, &zk.DeleteRequest{Path: change.Path, Version: -1}))
}

// apply waits for the turn and makes a change. Without an error the change was made, by this call.
func (r *receipts) apply(ctx context.Context, op *operation, change UnknownOutcomeError, request any) error {
	if err := r.turn.take(ctx); err != nil {
		return err
	}
	defer r.turn.give()
	return r.change(ctx, op, change, request)
}

func (r *receipts) change(ctx context.Context, op *operation, change UnknownOutcomeError, request any) error {
	id, pace := NewGUID(r.s.conn), r.s.retries()
	for vanished := 0; vanished < vanishMax; {
		if err := r.claim(ctx); err != nil {
			return err
		}
		if !op.begin(change) {
			return ctx.Err()
		}
		err := r.send(id, request)
		fate := call.FateOf(err)
		switch {
		case err == errNoClaim:
			op.refused()
			r.path = ""
			vanished++
			continue
		case fate == call.Answered:
			return op.answered(err)
		case fate == call.Closed:
			return ErrClosed
		case fate == call.Lost:
			made, err := r.look(ctx, id, err)
			if err != nil {
				return err
			}
			if made {
				return nil
			}
			op.refused()
		default:
			op.refused()
		}
		if err := pace.Wait(ctx, err); err != nil {
			return err
		}
	}
	return errVanishing(r.s.dir)
}

// errNoClaim: the znode of the note is gone, with its session or with the directory. The multi has changed nothing.
var errNoClaim = errors.New("no claim")

func (r *receipts) send(id string, request any) error {
	note := &zk.SetDataRequest{Path: r.path, Data: []byte(id), Version: -1}
	results, err := r.s.conn.Multi(note, request)
	if errors.Is(err, zk.ErrNoNode) && len(results) > 0 && errors.Is(results[0].Error, zk.ErrNoNode) {
		return errNoClaim
	}
	return err
}

// claim sees to it that there is a znode for the note.
func (r *receipts) claim(ctx context.Context) error {
	s := r.s
	if r.path != "" && r.session == s.conn.SessionID() {
		return nil
	}
	path := join(s.dir, claimPrefix+NewGUID(s.conn))
	err := s.persistBelow(ctx, s.dir, func() error {
		_, err := s.conn.Create(path, nil, zk.FlagEphemeral, s.settings.ACL)
		return err
	})
	if err == nil || errors.Is(err, zk.ErrNodeExists) { // the guid makes it this client's
		r.path, r.session = path, s.conn.SessionID()
		return nil
	}
	return err
}

// look reports whether the change with that id was made, after its reply was lost; the error is lost if that can no
// longer be known, because the session was replaced and took the note along.
//
// "Not made" is certain only within one session: there nothing that was on the way from the broken connection is
// carried out any more, and the read is not older than the commit.
func (r *receipts) look(ctx context.Context, id string, lost error) (made bool, err error) {
	s := r.s
	session := s.conn.SessionID()
	if err := s.commit(ctx, r.path); err != nil {
		return false, err
	}
	note, stat, err := s.get(ctx, r.path)
	switch {
	case err == nil && string(note) == id:
		return true, nil
	case errors.Is(err, zk.ErrNoNode):
		return false, lost
	case err != nil:
		return false, err
	case stat.EphemeralOwner != session || s.conn.SessionID() != session:
		return false, lost
	}
	return false, nil
}

// turn is a mutex that may be held across calls to ZooKeeper, and whose waiters can give up.
type turn chan struct{} // holds one token while the turn is taken

func newTurn() turn { return make(turn, 1) }

// take waits for the turn. When the context has ended it is not taken, even if it is free.
func (t turn) take(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t turn) give() { <-t }
