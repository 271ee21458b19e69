//go:build !linux

package worker

import "syscall"

// ownGroup puts a process into a group of its own. These systems cannot bind its life to its parent's.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
