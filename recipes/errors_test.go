package recipes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"testing"
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
