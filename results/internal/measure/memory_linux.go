package measure

import (
	"os"
	"syscall"
)

// MaxResidentMB is how much memory a process has had at most.
func MaxResidentMB(ended *os.ProcessState) int64 {
	return int64(ended.SysUsage().(*syscall.Rusage).Maxrss) >> 10
}
