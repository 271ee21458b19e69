//go:build !linux

package afterlife

import "syscall"

// bound cannot bind the life of a process to its parent's on these systems.
func bound() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
