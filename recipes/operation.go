package recipes

import (
	"context"
	"sync"

	"github.com/zktorture/zktorture/internal/call"
)

// operation is one call of a recipe that its caller may leave while a request hangs. It runs on a goroutine of its
// own, which ends when that request returns, since it begins no other once the context has ended.
//
// Invariant: no change is begun after the caller has left, and a caller that leaves while one is under way is told
// which (pending).
type operation struct {
	done chan struct{}

	mu      sync.Mutex // never held across a call to ZooKeeper
	over    bool       // finished, or left by the caller
	begun   bool       // a change, which is …
	pending UnknownOutcomeError
	err     error
}

// carryOut runs body and returns its result, or none when ctx ends first.
func carryOut[T any](ctx context.Context, body func(*operation) (T, error)) (T, error) {
	var result, none T // the result is not read when the caller leaves before it was written
	err := perform(ctx, func(op *operation) (err error) {
		result, err = body(op)
		return err
	})
	if err != nil {
		return none, err
	}
	return result, nil
}

// perform runs body and waits for it or for the end of ctx.
func perform(ctx context.Context, body func(*operation) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return launch(ctx, body)
}

// launch is perform for a body that has to run even if ctx has ended.
func launch(ctx context.Context, body func(*operation) error) error {
	op := &operation{done: make(chan struct{})}
	go op.run(body)
	select {
	case <-op.done:
	case <-ctx.Done():
		op.end(ctx.Err())
	}
	op.mu.Lock()
	defer op.mu.Unlock()
	return op.err
}

func (op *operation) run(body func(*operation) error) {
	defer close(op.done)
	defer op.end(ErrClosed) // reached first only when the client's process ends in a call
	op.end(body(op))
}

// end records the result unless there is one. If a change is under way, its outcome is unknown.
func (op *operation) end(err error) {
	op.mu.Lock()
	defer op.mu.Unlock()
	if op.over {
		return
	}
	op.over, op.err = true, err
	if op.begun && err != nil {
		unknown := op.pending
		unknown.Err = err
		op.err = &unknown
	}
}

// begin is called before a change is sent and says whether the caller still wants it.
func (op *operation) begin(change UnknownOutcomeError) bool {
	op.mu.Lock()
	defer op.mu.Unlock()
	if op.over {
		return false
	}
	op.begun, op.pending = true, change
	return true
}

// refused is called when the change was certainly not made. One that was made stays pending until the operation ends
// without an error: a caller that leaves in between is told of it.
func (op *operation) refused() {
	op.mu.Lock()
	defer op.mu.Unlock()
	op.begun = false
}

// answered notes that the change was not made if err is an answer.
func (op *operation) answered(err error) error {
	if err != nil && call.FateOf(err) == call.Answered {
		op.refused()
	}
	return err
}
