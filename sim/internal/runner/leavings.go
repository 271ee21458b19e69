package runner

import (
	"fmt"
	"runtime"
	"runtime/metrics"

	"github.com/zktorture/zktorture/sim/internal/bubble"
)

// Leavings bounds what the episodes of one run leave behind, beside what was there before it. Goroutines keep their bubble,
// world and the buffers of connections for ever: go-zookeeper has 3 MB for each. So there cannot be many.
type Leavings struct {
	goroutines int
	bytes      uint64
}

// What may be left.
var (
	LeftGoroutinesMax        = 50_000
	leftBytesMax      uint64 = 512 << 20
)

// NewLeavings is of a run that begins.
func NewLeavings() Leavings { return Leavings{runtime.NumGoroutine(), inUse()} }

// TooMuch reports whether so much is left behind that no other episode should be run. It is asked after an episode that has
// left something.
func (l Leavings) TooMuch() bool {
	if runtime.NumGoroutine() > l.goroutines+LeftGoroutinesMax {
		return true
	}
	if inUse() <= l.bytes+leftBytesMax {
		return false
	}
	runtime.GC()
	return inUse() > l.bytes+leftBytesMax
}

// inUse is the memory of objects, with those that are garbage since the last collection, and of stacks.
func inUse() uint64 {
	samples := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64() + samples[1].Value.Uint64()
}

// String says in a line what is left, and where.
func (l Leavings) String() string {
	now, bytes := runtime.NumGoroutine()-l.goroutines, int64(inUse())-int64(l.bytes)
	return fmt.Sprintf("too much memory is used: %d MB by %d goroutines that never end, at %s", bytes>>20, now, bubble.LeftBehind())
}

const letThemEnd = "Let goroutines end when their connection fails with zk.ErrClosing, and open connections with the option " +
	"that the world gives, so that it can close them"

// LeftMax is how many episodes of a campaign over the wire may leave goroutines behind, each with the buffers of its
// connections. In process a few goroutines of a process that has died take little; see [leftTooMuch].
const LeftMax = 100

// TooManyLeft says why a campaign cannot go on.
func TooManyLeft(where string) string {
	return fmt.Sprintf("%d episodes have left goroutines behind, at %s: they keep memory for ever. %s", LeftMax, where,
		letThemEnd)
}
