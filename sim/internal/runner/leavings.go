package runner

import (
	"fmt"
	"runtime"
	"runtime/metrics"
)

// Goroutines that an episode has left behind keep its bubble, its world and the buffers of its connections for ever:
// go-zookeeper has 3 MB for each. So there cannot be many. What they take is bounded together with all else that lives.
var (
	LeftGoroutinesMax        = 50_000
	leftBytesMax      uint64 = 512 << 20
)

// LeftTooMuch reports whether so much is left behind that no other episode should be run. It is asked after an episode
// that has left something.
func LeftTooMuch() bool {
	if runtime.NumGoroutine() > LeftGoroutinesMax {
		return true
	}
	if inUse() <= leftBytesMax {
		return false
	}
	runtime.GC()
	return inUse() > leftBytesMax
}

// inUse is the memory of objects, with those that are garbage since the last collection, and of stacks.
func inUse() uint64 {
	samples := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64() + samples[1].Value.Uint64()
}

// HeavyLeft says why nothing more can be run.
func HeavyLeft() string {
	return fmt.Sprintf("what episodes have left behind takes too much memory: there are %d goroutines and %d MB, and the "+
		"limits are %d and %d. %s", runtime.NumGoroutine(), inUse()>>20, LeftGoroutinesMax, leftBytesMax>>20, letThemEnd)
}

const letThemEnd = "Let goroutines end when their connection fails with zk.ErrClosing or zk.ErrConnectionClosed, and open " +
	"connections with the option that the world gives, so that it can close them"

// LeftMax is how many episodes of a campaign over the wire may leave goroutines behind, each with the buffers of its
// connections. In process a few goroutines of a process that has died take little; see [leftTooMuch].
const LeftMax = 100

// TooManyLeft says why a campaign cannot go on.
func TooManyLeft(where string) string {
	return fmt.Sprintf("%d episodes have left goroutines behind, at %s: they keep memory for ever. %s", LeftMax, where,
		letThemEnd)
}
