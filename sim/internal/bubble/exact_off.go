//go:build !zktexact

package bubble

import (
	"context"
	"net"
)

// Exact reports whether this was built with the runtime that package internal/cli/exact makes.
const Exact = false

// WireNote says what is different about runs over the wire.
const WireNote = "over the wire the Go scheduler decides inside of go-zookeeper, so that equal choices may give " +
	"another run: a replay may need several tries, or --exact"

func Begin(*Tape) {}

func Own(uint64) {}

func callers() (owner uint64, inside bool) { return }

func Reap(uint64) {}

func ReapLeft() (some bool) { return true }

func Plug(
	func(owner uint64, ctx context.Context, network, address string) (net.Conn, error),
	func(owner uint64, network, address string) (net.Listener, error),
	func(owner uint64, host string) ([]string, error),
	func(owner uint64, call string) error,
) {
}

func PlugExit(func(owner uint64, status int)) {}

func Goroutine() uint64 { return 0 }

func MutexWaits() [][4]uint64 { return nil }
