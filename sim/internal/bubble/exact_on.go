//go:build zktexact

package bubble

import (
	"context"
	"net"
	_ "unsafe" // for go:linkname
)

// Exact reports whether this was built with the runtime that package internal/cli/exact makes.
const Exact = true

// WireNote says what is different about runs over the wire.
const WireNote = "over the wire, in exact mode: what the Go scheduler decides inside of go-zookeeper is replayed, too"

// Begin makes the caller's bubble exact and the caller its loop, see internal/cli/exact/edits.
//
//go:linkname Begin runtime.exactBegin
func Begin(t *Tape)

// Own makes the caller's goroutine an owner's, and all that it starts from here on, also by timers; 0 is nobody.
//
//go:linkname Own runtime.exactOwn
func Own(owner uint64)

// callers is whose the caller's goroutine is.
//
//go:linkname callers runtime.exactInside
func callers() (owner uint64, inside bool)

// Reap ends all goroutines of an owner's, and its timers, in the caller's bubble. They run nothing any more.
//
//go:linkname Reap runtime.exactReap
func Reap(owner uint64)

// ReapLeft ends the goroutines that are left in bubbles that are over, and reports whether some are left all the same.
//
//go:linkname ReapLeft runtime.exactReapLeft
func ReapLeft() (some bool)

// Plug says what package net is to code in bubbles that [Begin] has made exact: how to dial and look up a host, and the
// error of all other calls, which would leave the bubble. Each gets the owner of the goroutine that asks.
//
//go:linkname Plug net.exactPlug
func Plug(
	dial func(owner uint64, ctx context.Context, network, address string) (net.Conn, error),
	lookup func(owner uint64, host string) ([]string, error),
	bar func(owner uint64, call string) error,
)

// PlugExit says what os.Exit does in such bubbles. If it returns, the program exits.
//
//go:linkname PlugExit os.exactPlug
func PlugExit(exit func(owner uint64, status int))

// PlugHost says what the host is called that an owner's code runs on, and which process it is there; 0 if it is none's.
//
//go:linkname PlugHost os.exactPlugHost
func PlugHost(host func(owner uint64) (name string, pid int))

// PlugAddr says what address that host has, nil if the code is none's.
//
//go:linkname PlugAddr net.exactPlugAddr
func PlugAddr(addr func(owner uint64) net.IP)

// Goroutine is the number of the caller's goroutine.
//
//go:linkname Goroutine runtime.exactGoroutine
func Goroutine() uint64

// MutexWaits are the goroutines of the caller's bubble that wait for mutexes, each beside one that is in its way, and the
// owners of both.
//
//go:linkname MutexWaits runtime.exactMutexes
func MutexWaits() [][4]uint64
