package main

import (
	"os"
	"syscall"
)

// maxResidentMB is how much memory a process has had at most.
func maxResidentMB(ended *os.ProcessState) int64 {
	return int64(ended.SysUsage().(*syscall.Rusage).Maxrss) >> 10
}
