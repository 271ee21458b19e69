// Package gc sets the garbage collector for programs that do little but run episodes.
package gc

import (
	"os"
	"runtime"
	"runtime/debug"
)

// percent: a campaign keeps a few megabytes and makes much garbage, so collecting it less often costs little memory.
const percent = 400

// Relax lets the collector run less often, unless the environment says how often (GOGC).
func Relax() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}

// Within bounds the growth of the heap by bytes, where that is possible, by collecting more often, unless GOMEMLIMIT
// is set.
func Within(bytes int64) {
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	debug.SetMemoryLimit(int64(memory.Sys-memory.HeapReleased) + bytes)
}
