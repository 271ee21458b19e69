//go:build !linux

package ensemble

import "syscall"

// boundToParent puts the child into a process group of its own, so that Ctrl-C in a terminal does
// not reach it. These systems cannot bind its life to its parent's.
func boundToParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
