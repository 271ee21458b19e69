package testkit

import (
	"context"
	"testing"
	"time"
)

// Hang is how long a test waits for what must happen. It says nothing of how fast that is: it ends what hangs.
const Hang = 3 * time.Minute

// Until looks again and again until something is so.
func Until(t testing.TB, what string, so func() bool) {
	t.Helper()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for deadline := Deadline(); !so(); <-look.C {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", Hang, what)
		}
	}
}

// From returns what comes from a channel next, the zero value if it is closed.
func From[T any](t testing.TB, what string, c <-chan T) T {
	t.Helper()
	late := time.NewTimer(Hang)
	defer late.Stop()
	select {
	case v := <-c:
		return v
	case <-late.C:
		t.Fatalf("not within %v: %s", Hang, what)
		panic("unreachable")
	}
}

// Deadline is for a connection from which something must come.
func Deadline() time.Time { return time.Now().Add(Hang) }

// Context is for a call that must return. It ends with the test.
func Context(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), Hang)
	t.Cleanup(cancel)
	return ctx
}
