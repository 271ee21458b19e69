//go:build unix

package sim

import (
	"syscall"
	"time"
)

// processorTime is how much processor time this process has had.
func processorTime() time.Duration {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return time.Since(begun)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

var begun = time.Now()
