package console

import (
	"context"
	"errors"
	"os"
	"time"
)

// ErrInterrupted is the error of a command that was interrupted while it waited for input.
var ErrInterrupted = errors.New("interrupted")

// Interruptible returns what f returns, or errInterrupted once the command is to end. Then f may block on: opening or
// reading a pipe cannot be cancelled, and ends with the process.
func Interruptible[T any](c *Context, f func() (T, error)) (T, error) {
	type returned struct {
		value T
		err   error
	}
	done := make(chan returned, 1)
	go func() {
		value, err := f()
		done <- returned{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-c.Done():
		var none T
		return none, ErrInterrupted
	}
}

// endWithin is how long after a signal a command has to end that needs nothing but its own process. Most need a moment;
// it is for one whose output nobody reads, for example.
const endWithin = 1800 * time.Millisecond

// EndSoon ends the process with a status if the command is still under way so long after a signal. The command calls
// stop when it has ended.
func (c *Context) EndSoon(status func() int) (stop func()) {
	ended := make(chan struct{})
	context.AfterFunc(c, func() {
		select {
		case <-ended:
		case <-time.After(endWithin):
			os.Exit(status())
		}
	})
	return func() { close(ended) }
}
