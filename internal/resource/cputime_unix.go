//go:build unix

package resource

import (
	"syscall"
	"time"
)

// CPUTime is how much processor time this process has used.
func CPUTime() time.Duration {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return time.Since(begun)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
