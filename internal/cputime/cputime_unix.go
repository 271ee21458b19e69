//go:build unix

package cputime

import (
	"syscall"
	"time"
)

// Spent is how much processor time this process has used.
func Spent() time.Duration {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return time.Since(begun)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
