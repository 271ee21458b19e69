// Package memory is about how the process of a command uses its memory.
package memory

import (
	"os"
	"runtime"
	"runtime/debug"
)

// percent is GOGC. A campaign has a small heap and makes much garbage, so collecting less often costs little memory. With
// more than this the heap outgrows the processor's cache, and all gets slower.
const percent = 300

// RelaxGC lets the collector run less often, unless GOGC is set.
func RelaxGC() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}

// TightenGC lets the collector run as often as Go's default again, for a server, which may hold much: what it takes is at
// most about twice what it holds.
func TightenGC() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(100)
	}
}

// ExpectHeap puts the first collection off until the heap is as large as the second may let it become if so many bytes are
// about to be allocated and kept. Without it the collector runs as soon as these are allocated, and finds no garbage.
func ExpectHeap(bytes int64) {
	if os.Getenv("GOGC") != "" {
		return
	}
	least := bytes * (100 + percent) / 100
	debug.SetGCPercent(max(percent, int(100*least/minimum)))
	runtime.AddCleanup(new(collected), func(struct{}) { RelaxGC() }, struct{}{})
}

// minimum is how large the heap becomes before the first collection if GOGC is 100 (package runtime, "GOGC").
const minimum = 4 << 20

// collected is garbage at once: it is cleaned up when the collector has run. It has a pointer, so that it is not put
// beside others.
type collected struct{ _ *int }
