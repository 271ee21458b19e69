package recipes

import (
	"errors"
	"fmt"

	"github.com/zktorture/zktorture/internal/call"
)

var (
	// ErrEmpty is returned by a queue that had no item at a moment during the call.
	ErrEmpty = errors.New("recipes: the queue is empty")

	// ErrLost is returned by Unlock when the hold had ended before it was released: the session expired, the connection
	// was closed or the znode was deleted. Others may have held the lock meanwhile. Resign of a [Candidate] and Leave
	// of a [Group] return it in the same case: to lead, or to be a member, is to hold a lock of another kind.
	ErrLost = errors.New("recipes: the lock was lost before it was released")

	// ErrHeld is returned by Lock and TryLock of a value that holds its lock already, or that is acquiring it at this
	// moment, by Campaign of a [Candidate] that leads or campaigns, and by Join of a [Group] that has joined or is
	// joining.
	ErrHeld = errors.New("recipes: this value holds or is acquiring its lock already")

	// ErrNotHeld is returned by Unlock, Resign or Leave of a value that has no hold to release.
	ErrNotHeld = errors.New("recipes: this value does not hold its lock")

	// ErrUnknownOutcome is what every [*UnknownOutcomeError] is: the connection broke, or the caller gave up, while a
	// change was under way, and nothing can tell whether it happened.
	ErrUnknownOutcome = errors.New("recipes: the outcome is unknown")

	// ErrClosed is returned by whatever waits when the connection is closed for good. What is begun later may end with
	// ErrNoAnswer.
	ErrClosed = call.ErrClosed

	// ErrNoAnswer is returned when ten requests in a row were lost, in six to eleven seconds by default, each because the
	// connection broke before the answer. Either it has been closed, which a *zk.Conn does not tell from that, or
	// something accepts connections and drops them. It is not final: a later call tries again. An ephemeral znode that
	// could not be removed stays until the session ends.
	ErrNoAnswer = call.ErrNoAnswer
)

// UnknownOutcomeError says that a change may or may not have happened.
type UnknownOutcomeError struct {
	Op   string // "offer", "poll" or "take", or a counter's "add"
	Path string // the item; of an offer without its sequence number; or the counter's number
	Data []byte // the item's data: what was offered, or what is gone if it was removed; or the sum
	Err  error  // why nobody knows: the lost connection, or the caller's context
}

func (e *UnknownOutcomeError) Error() string {
	text := fmt.Sprintf("recipes: %s: nobody knows whether the %s has happened (%v)", e.Path, e.Op, e.Err)
	if len(e.Data) > 0 {
		text += "; its data is in the error"
	}
	return text
}

// Is makes errors.Is(e, ErrUnknownOutcome) true.
func (e *UnknownOutcomeError) Is(target error) bool { return target == ErrUnknownOutcome }

// Unwrap returns the reason, so that errors.Is(e, context.Canceled) reports whether the caller caused it.
func (e *UnknownOutcomeError) Unwrap() error { return e.Err }

// explain adds to an answer of ZooKeeper what was asked for. Other errors stay as they are.
func explain(err error, format string, args ...any) error {
	if err == nil || call.FateOf(err) != call.Answered {
		return err
	}
	return fmt.Errorf("recipes: %s: %w", fmt.Sprintf(format, args...), err)
}
