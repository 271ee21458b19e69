// Package gc sets the garbage collector for programs that do little but run episodes.
package gc

import (
	"os"
	"runtime"
	"runtime/debug"
)

// percent: a campaign keeps a few megabytes and makes much garbage, so that it is collected less often than by
// default is worth some tens of megabytes.
const percent = 400

// Relax lets the collector run less often, unless the environment says how often (GOGC).
func Relax() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}

// Within lets the collector run as often as it takes to keep the heap from growing by more than so many bytes, if
// that is possible, unless the environment says how large it may become (GOMEMLIMIT).
func Within(bytes int64) {
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	debug.SetMemoryLimit(int64(memory.Sys-memory.HeapReleased) + bytes)
}
