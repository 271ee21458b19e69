package recipes

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/goclient"
)

// A caller may leave in the moment between the answer to its change and the end of the operation. What was made it
// has to be told of; what was refused not.
func TestLeavingAfterTheAnswer(t *testing.T) {
	ctx := t.Context()
	conn, _, _ := goclient.NewLocal(fakezk.Config{}).Connect(10 * time.Second)
	plain, receipts := NewQueue(conn, "/plain"), NewQueue(conn, "/receipts", WithReceipts())
	gate := NewBarrier(conn, "/gate")
	a := []byte("a")
	err := errors.Join(plain.Offer(ctx, a), receipts.Offer(ctx, a))
	if err != nil {
		t.Fatal(err)
	}
	take := func(q *Queue) func(op *operation) error {
		return func(op *operation) error {
			data, err := q.takeFirst(ctx, op, "take", q.items)
			if err == nil && !bytes.Equal(data, []byte("a")) {
				err = errors.New("took " + string(data))
			}
			return err
		}
	}
	gone := func(q *Queue) func(op *operation) error {
		return func(op *operation) error {
			_, taken, err := q.take(ctx, op, "take", q.dir+"/item-gone")
			if taken {
				err = errors.New("took what is not there")
			}
			return err
		}
	}
	for _, c := range []struct {
		name string
		body func(op *operation) error
		made bool
	}{
		{"offer", func(op *operation) error { return plain.ledger.offer(ctx, op, itemPrefix, []byte("b")) }, true},
		{"take", take(plain), true},
		{"take what is gone", gone(plain), false},
		{"offer with a receipt", func(op *operation) error {
			return receipts.ledger.offer(ctx, op, itemPrefix, []byte("b"))
		}, true},
		{"take with a receipt", take(receipts), true},
		{"shut", func(op *operation) error {
			if done, err := gate.turn(ctx, op, "shut", gateShut); err != nil || !done {
				return errors.Join(err, errors.New("not shut"))
			}
			return nil
		}, true},
		{"shut again", func(op *operation) error { _, err := gate.turn(ctx, op, "shut", gateShut); return err }, false},
	} {
		op := &operation{done: make(chan struct{})}
		if err := c.body(op); err != nil && !errors.Is(err, zk.ErrNoNode) {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		op.end(context.Canceled) // the caller leaves
		if err := op.err; errors.Is(err, ErrUnknownOutcome) != c.made || !errors.Is(err, context.Canceled) {
			t.Errorf("%s: who leaves is told %v; that it may have happened: want %v", c.name, err, c.made)
		}
	}
}
