package recipes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
)

func TestClassify(t *testing.T) {
	reset := &net.OpError{Op: "write", Net: "tcp", Err: syscall.ECONNRESET}
	for _, test := range []struct {
		err  error
		want answer
	}{
		{nil, answered},
		{zk.ErrNoNode, answered},
		{zk.ErrNodeExists, answered},
		{zk.ErrNoAuth, answered},
		{zk.ErrInvalidPath, answered},
		{fmt.Errorf("Create with TTL flag disallowed: %w", zk.ErrInvalidFlags), answered},
		{errors.New("unknown error: -125"), answered},
		{zk.ErrNoServer, unsent},
		{zk.ErrConnectionClosed, unanswered},
		{zk.ErrSessionExpired, unanswered},
		{zk.ErrSessionMoved, unanswered},
		{reset, unanswered},
		{io.EOF, unanswered},
		{io.ErrUnexpectedEOF, unanswered},
		{zk.ErrClosing, closed},
	} {
		if got := classify(test.err); got != test.want {
			t.Errorf("classify(%v) = %d, want %d", test.err, got, test.want)
		}
	}
}

func TestUnknownOutcomeError(t *testing.T) {
	var err error = &UnknownOutcomeError{Op: "poll", Path: "/q/qn-1", Err: context.Canceled}
	if !errors.Is(err, ErrUnknownOutcome) || !errors.Is(err, context.Canceled) || errors.Is(err, ErrEmpty) {
		t.Errorf("%v is the wrong kind of error", err)
	}
	const text = "recipes: /q/qn-1: nobody knows whether the poll has happened (context canceled)"
	if err.Error() != text {
		t.Errorf("without data: %v", err)
	}
	err.(*UnknownOutcomeError).Data = []byte("x")
	if err.Error() != text+"; its data is in the error" {
		t.Errorf("with data: %v", err)
	}
}

func TestRetryDelay(t *testing.T) {
	policy := RetryPolicy{DelayMin: 50 * time.Millisecond, DelayMax: 2 * time.Second}
	last := time.Duration(0)
	for failures := range 100 {
		d := policy.delay(failures)
		if d < last || d < policy.DelayMin || d > policy.DelayMax {
			t.Errorf("delay(%d) = %v after %v", failures, d, last)
		}
		last = d
	}
	if last != policy.DelayMax {
		t.Errorf("grows to %v, not to %v", last, policy.DelayMax)
	}
	if d := (RetryPolicy{}).delay(3); d <= 0 {
		t.Errorf("the zero policy does not pause: %v", d)
	}
}

func TestRetryDelays(t *testing.T) {
	if DefaultRetry != (RetryPolicy{50 * time.Millisecond, 2 * time.Second}) {
		t.Errorf("the default is %v", DefaultRetry)
	}
	for failures, want := range []time.Duration{50, 100, 200, 400, 800, 1600, 2000, 2000} {
		if got := DefaultRetry.delay(failures); got != want*time.Millisecond {
			t.Errorf("delay(%d) = %v, want %d ms", failures, got, want)
		}
	}
}

// unreachable is a connection that knows nothing but its state.
type unreachable struct {
	Conn
	state zk.State
}

func (u *unreachable) State() zk.State { return u.state }

// A connection that breaks before it answers is given up after so many requests in a row, and the
// pauses between them grow.
func TestBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn := &unreachable{state: zk.StateDisconnected}
		b := backoff{link: &retryConn{conn: conn, retry: DefaultRetry}}
		wait := func(err error, pause time.Duration) error {
			begin := time.Now()
			result := b.wait(t.Context(), err)
			if took := time.Since(begin); took != pause*time.Millisecond {
				t.Errorf("a pause of %v, want %d ms", took, pause)
			}
			return result
		}
		for _, pause := range []time.Duration{50, 100, 200, 400, 800, 1600, 2000, 2000, 2000} {
			if err := wait(zk.ErrConnectionClosed, pause); err != nil {
				t.Fatal(err)
			}
		}
		conn.state = zk.StateHasSession
		if err := wait(zk.ErrConnectionClosed, 2000); err != nil {
			t.Errorf("it has answered, and is given up: %v", err)
		}
		conn.state = zk.StateDisconnected
		if err := wait(io.EOF, 2000); err != nil {
			t.Errorf("another error: %v", err)
		}
		for range deafMax - 1 {
			if err := wait(zk.ErrConnectionClosed, 2000); err != nil {
				t.Fatal(err)
			}
		}
		if err := wait(zk.ErrConnectionClosed, 2000); !errors.Is(err, ErrClosed) {
			t.Errorf("after %d requests that were lost: %v", deafMax, err)
		}
	})
}
