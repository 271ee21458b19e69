package recipes

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"
)

// ledger makes changes and knows how to find out whether they were made. When it returns an error while the change is
// pending in the operation, the outcome is unknown and the error is why.
type ledger interface {
	// offer adds an item whose name begins with prefix.
	offer(ctx context.Context, op *operation, prefix string, data []byte) error
	// remove deletes an item and tells whether it was this call that did; false if it was gone.
	remove(ctx context.Context, op *operation, change UnknownOutcomeError) (bool, error)
}

// plain is the ledger without receipts.
type plain struct{ s *store }

// offer creates the item once and after a lost reply looks for it.
func (p plain) offer(ctx context.Context, op *operation, prefix string, data []byte) error {
	s, guid := p.s, NewGUID(p.s.conn)
	change := UnknownOutcomeError{Op: "offer", Path: join(s.dir, prefix+guid+"-"), Data: data}
	pace := backoff{link: &s.retryConn}
	for vanished := 0; vanished < vanishMax; {
		if !op.begin(change) {
			return ctx.Err()
		}
		_, err := s.conn.Create(change.Path, data, zk.FlagSequence, s.acl)
		switch kind := classify(err); {
		case errors.Is(err, zk.ErrNoNode):
			op.refused()
			vanished++
			err = s.ensure(ctx, s.dir)
		case kind == unsent:
			op.refused()
			err = pace.wait(ctx, err)
		case kind == answered:
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
	if classify(lost) == closed {
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
	pace := backoff{link: &p.s.retryConn}
	var lost error
	for {
		if !op.begin(change) {
			return false, ctx.Err()
		}
		err := p.s.conn.Delete(change.Path, -1)
		switch kind := classify(err); {
		case kind == answered && (err == nil || lost == nil):
			return removed(op.answered(err))
		case kind == answered:
			return false, lost
		case kind != unsent:
			lost = err
		case lost == nil:
			op.refused()
		}
		if err := pace.wait(ctx, err); err != nil {
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
