package call

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"
)

// ErrClosed and ErrNoAnswer are those of package recipes.
var (
	ErrClosed   = errors.New("recipes: the connection to ZooKeeper is closed")
	ErrNoAnswer = fmt.Errorf("recipes: ZooKeeper does not answer: %d requests in a row were lost, so the connection was closed "+
		"or breaks each time before an answer; connect anew, or try again", deafMax)
)

// deafMax is after how many lost requests in a row, each found with the connection still down when its pause was
// over, no other is sent.
//
// A closed *zk.Conn answers every request with ErrConnectionClosed at once, which is also what a request under way gets
// when an open one breaks; and its state is StateDisconnected, which an open one has for moments. Neither is proof. But
// an open connection that is down keeps requests waiting and does not fail them: to fail one it must connect, send and
// break again, and after the pause it is connecting already. Ten times in a row, over more than five seconds, is the
// best evidence there is, and enough to end with ErrNoAnswer what would else go on for ever; a watch, which does tell
// the difference, decides wherever there is one. After ErrNoAnswer the removal of a znode is tried for as long again.
const deafMax = 10

// Retries paces the attempts at one request.
type Retries struct {
	Conn   interface{ State() zk.State }
	Policy Policy

	failures, deaf int
}

// Wait pauses after an attempt that ended with err. It returns nil when it is time for the next, else the reason not
// to try again: the context's error, ErrClosed or ErrNoAnswer.
func (r *Retries) Wait(ctx context.Context, err error) error {
	if FateOf(err) == Closed {
		return ErrClosed
	}
	if err := Pause(ctx, r.Conn, r.Policy.Delay(r.Conn, r.failures)); err != nil {
		return err
	}
	r.failures++
	if !errors.Is(err, zk.ErrConnectionClosed) || r.Conn.State() != zk.StateDisconnected {
		r.deaf = 0
		return nil
	}
	if r.deaf++; r.deaf >= deafMax {
		return ErrNoAnswer
	}
	return nil
}

// Pause waits for a time, or for the end of ctx, whose error it returns then.
func Pause(ctx context.Context, conn any, d time.Duration) error {
	timer := NewTimer(conn, d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err()
}

// WithTimeout is that of package context, for a recipe on that connection.
func WithTimeout(ctx context.Context, conn any, d time.Duration) (context.Context, context.CancelFunc) {
	BeginsToWait(conn)
	return context.WithTimeout(ctx, d)
}

// NewTimer returns a timer that a recipe on that connection waits for.
func NewTimer(conn any, d time.Duration) *time.Timer {
	BeginsToWait(conn)
	return time.NewTimer(d)
}

// BeginsToWait tells a simulated connection that its caller is about to wait for a time.
func BeginsToWait(conn any) {
	if simulated, ok := conn.(interface{ BeginsToWait() }); ok {
		simulated.BeginsToWait()
	}
}

// NewGUID returns 32 hexadecimal digits that no other call returns: from a simulated connection, else from crypto/rand.
func NewGUID(conn any) string {
	if source, ok := conn.(interface{ NewGUID() string }); ok {
		return source.NewGUID()
	}
	var guid [16]byte
	rand.Read(guid[:]) // never fails, see crypto/rand
	return hex.EncodeToString(guid[:])
}

// IsClosed reports whether a channel on which nothing is ever sent is closed.
func IsClosed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

// ClosedChannel has always been closed.
var ClosedChannel = func() <-chan struct{} {
	ch := make(chan struct{})
	close(ch)
	return ch
}()
