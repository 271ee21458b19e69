package recipes

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"
)

// RetryPolicy says how long to pause after a lost request before the next: DelayMin, then twice as long each time, up
// to DelayMax. There is no randomness in it; the recipes of this package do not wake in herds. How often is not
// limited: the context of the caller does that.
type RetryPolicy struct {
	DelayMin, DelayMax time.Duration
}

// DefaultRetry is the policy unless [WithRetry] sets another.
var DefaultRetry = RetryPolicy{DelayMin: 50 * time.Millisecond, DelayMax: 2 * time.Second}

// delay returns the pause after one more failure than failures.
func (p RetryPolicy) delay(failures int) time.Duration {
	d := max(p.DelayMin, time.Millisecond)
	for ; failures > 0 && d < p.DelayMax; failures-- {
		d *= 2
	}
	return min(d, max(p.DelayMax, p.DelayMin, time.Millisecond))
}

// deafMax is after how many lost requests in a row, each found with the connection still down when its pause was
// over, a connection counts as closed.
//
// A closed *zk.Conn answers every request with ErrConnectionClosed at once, which is also what a request under way
// gets when an open one breaks; and its state is StateDisconnected, which an open one has for moments. Neither is
// proof. But an open connection that is down keeps requests waiting and does not fail them: to fail one it must
// connect, send and break again, and after the pause it is connecting already. Ten times in a row, over eleven
// seconds, is the best evidence there is; a watch, which does tell the difference, decides wherever there is one.
// After errDeaf the removal of a znode is tried for as long again; if the conclusion was wrong twice, an ephemeral
// znode stays until the session ends.
const deafMax = 10

// errDeaf is the ErrClosed that is concluded and not known.
var errDeaf = fmt.Errorf("%w, or breaks before it answers: %d requests in a row were lost", ErrClosed, deafMax)

// backoff paces the attempts at one request.
type backoff struct {
	link           *retryConn
	failures, deaf int
}

// wait pauses after an attempt that ended with err. It returns nil when it is time for the next, else the reason not
// to try again: the context's error, ErrClosed or errDeaf.
func (b *backoff) wait(ctx context.Context, err error) error {
	if classify(err) == closed {
		return ErrClosed
	}
	if err := pause(ctx, b.link.conn, b.link.retry.delay(b.failures)); err != nil {
		return err
	}
	b.failures++
	if !errors.Is(err, zk.ErrConnectionClosed) || b.link.conn.State() != zk.StateDisconnected {
		b.deaf = 0
		return nil
	}
	if b.deaf++; b.deaf >= deafMax {
		return errDeaf
	}
	return nil
}

func pause(ctx context.Context, conn Conn, d time.Duration) error {
	timer := newTimer(conn, d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err()
}

// newTimer returns a timer that a recipe on that connection waits for.
func newTimer(conn Conn, d time.Duration) *time.Timer {
	BeginsToWait(conn)
	return time.NewTimer(d)
}
