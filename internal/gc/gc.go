// Package gc sets the garbage collector for programs that do little but run episodes.
package gc

import (
	"os"
	"runtime/debug"
)

// percent: a campaign keeps a few megabytes and makes much garbage, so that it is collected less
// often than by default is worth some tens of megabytes.
const percent = 400

// Relax lets the collector run less often, unless the environment says how often (GOGC).
func Relax() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}
