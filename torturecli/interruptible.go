package torturecli

import "errors"

// errInterrupted is the error of a command that was interrupted while it waited for input.
var errInterrupted = errors.New("interrupted")

// interruptible returns what f returns, or errInterrupted once the command is to end. Then f may block on: opening or
// reading a pipe cannot be cancelled, and ends with the process.
func interruptible[T any](c *commandContext, f func() (T, error)) (T, error) {
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
		return none, errInterrupted
	}
}
