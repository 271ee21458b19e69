package call_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/internal/call"
)

func TestFateOf(t *testing.T) {
	reset := &net.OpError{Op: "write", Net: "tcp", Err: syscall.ECONNRESET}
	for _, test := range []struct {
		err  error
		want call.Fate
	}{
		{nil, call.Answered},
		{zk.ErrNoNode, call.Answered},
		{zk.ErrNodeExists, call.Answered},
		{zk.ErrNoAuth, call.Answered},
		{zk.ErrInvalidPath, call.Answered},
		{fmt.Errorf("Create with TTL flag disallowed: %w", zk.ErrInvalidFlags), call.Answered},
		{errors.New("unknown error: -125"), call.Answered},
		{zk.ErrNoServer, call.Unsent},
		{zk.ErrConnectionClosed, call.Lost},
		{zk.ErrSessionExpired, call.Lost},
		{zk.ErrSessionMoved, call.Lost},
		{reset, call.Lost},
		{io.EOF, call.Lost},
		{io.ErrUnexpectedEOF, call.Lost},
		{zk.ErrClosing, call.Closed},
	} {
		if got := call.FateOf(test.err); got != test.want {
			t.Errorf("FateOf(%v) = %d, want %d", test.err, got, test.want)
		}
	}
}

// unreachable is a connection that knows nothing but its state, and draws the longest pauses.
type unreachable struct{ state zk.State }

func (u *unreachable) State() zk.State { return u.state }

func (u *unreachable) NewGUID() string { return strings.Repeat("0", 32) }

func TestLongestDelays(t *testing.T) {
	for failures, want := range []time.Duration{50, 100, 200, 400, 800, 1600, 2000, 2000} {
		if got := call.DefaultRetry.Delay(&unreachable{}, failures); got != want*time.Millisecond {
			t.Errorf("Delay(%d) = %v, want %d ms", failures, got, want)
		}
	}
	if d := new(call.Policy).Delay(&unreachable{}, 3); d <= 0 {
		t.Errorf("the zero policy does not pause: %v", d)
	}
}

// Clients that fail together do not come back together, and none comes back earlier than after half of its pause.
func TestDelaysDiffer(t *testing.T) {
	for _, longest := range []time.Duration{time.Millisecond, time.Second, 24 * time.Hour} {
		seen, shortest := map[time.Duration]bool{}, longest
		for range 100 {
			d := call.Policy{DelayMin: longest, DelayMax: longest}.Delay(nil, 0)
			if d < longest/2 || d > longest {
				t.Fatalf("a pause of %v, of %v", d, longest)
			}
			seen[d], shortest = true, min(shortest, d)
		}
		if len(seen) < 50 || shortest > longest*3/4 {
			t.Errorf("of 100 pauses of %v %d differ, and the shortest is %v", longest, len(seen), shortest)
		}
	}
}

// A connection that breaks before it answers is given up after so many requests in a row, and the
// pauses between them grow.
func TestBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn := &unreachable{state: zk.StateDisconnected}
		b := call.Retries{Conn: conn, Policy: call.DefaultRetry}
		wait := func(err error, pause time.Duration) error {
			begin := time.Now()
			result := b.Wait(t.Context(), err)
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
		for range 9 {
			if err := wait(zk.ErrConnectionClosed, 2000); err != nil {
				t.Fatal(err)
			}
		}
		if err := wait(zk.ErrConnectionClosed, 2000); !errors.Is(err, call.ErrNoAnswer) || errors.Is(err, call.ErrClosed) {
			t.Errorf("after 10 requests that were lost: %v", err)
		}
	})
}
