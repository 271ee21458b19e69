// Package gc tunes the garbage collector for programs that mostly run episodes.
package gc

import (
	"os"
	"runtime"
	"runtime/debug"
)

// percent is GOGC. A campaign has a small heap and makes much garbage, so collecting less often costs little memory.
const percent = 400

// Relax lets the collector run less often, unless GOGC is set.
func Relax() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}

// Within bounds the heap's growth by bytes, if possible, by collecting more often, unless GOMEMLIMIT is set.
func Within(bytes int64) {
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	debug.SetMemoryLimit(int64(memory.Sys-memory.HeapReleased) + bytes)
}
