package parts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/zktorture/zktorture/cmd/internal/cli/console"
)

// Answer answers questions from standard input, one line of JSON after the other on standard output, until nobody asks any more: then, or
// when this process is to end, what is under way is left. An interrupt from a terminal is for the process that asks. An
// error of reply ends this process.
func Answer[Q any](c *console.Context, reply func(context.Context, Q) (any, error)) error {
	signal.Ignore(os.Interrupt)
	ctx, end := context.WithCancelCause(c)
	defer end(nil)
	questions := make(chan Q)
	go func() { end(readQuestions(ctx, questions)) }()
	type replied struct {
		object any
		err    error
	}
	for {
		var r replied
		done := make(chan replied, 1)
		select {
		case q := <-questions:
			go func() {
				object, err := reply(ctx, q)
				done <- replied{object, err}
			}()
		case <-ctx.Done():
			return ended(ctx)
		}
		select {
		case r = <-done:
		case <-ctx.Done():
		}
		if ctx.Err() != nil { // a reply may be the error of that
			return ended(ctx)
		}
		if r.err != nil {
			return r.err
		}
		if err := console.WriteJSON(c.Bare.Stdout, r.object); err != nil {
			return err
		}
	}
}

// readQuestions reads what standard input asks. The error is io.EOF if nobody asks any more.
func readQuestions[Q any](ctx context.Context, questions chan<- Q) error {
	in := json.NewDecoder(os.Stdin)
	for {
		var q Q
		if err := in.Decode(&q); err != nil {
			return err
		}
		select {
		case questions <- q:
		case <-ctx.Done():
			return nil
		}
	}
}

// ended is the error of a process that answers no more: nil if nobody asks.
func ended(ctx context.Context) error {
	switch err := context.Cause(ctx); {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil
	case errors.Is(err, context.Canceled):
		return console.ErrInterrupted
	default:
		return fmt.Errorf("standard input: not a request as a line of JSON: %w", err)
	}
}
