//go:build !zktexact

package bubble

// Exact reports whether this was built with the runtime that package internal/cli/exact makes.
const Exact = false

// WireNote says what is different about runs over the wire.
const WireNote = "go-zookeeper's goroutines are not controlled here, so a replay may take several tries; torture test is exact"

func Begin(*Tape) {}

func Own(uint64) {}

func callers() (owner uint64, inside bool) { return }

func Reap(uint64) {}

func ReapLeft() (some bool) { return true }

func PlugExit(func(owner uint64, status int)) {}

func Goroutine() uint64 { return 0 }

func MutexWaits() [][4]uint64 { return nil }
