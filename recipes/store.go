package recipes

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"
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
