package worker

import "syscall"

// ownGroup puts a process into a group of its own, and has it killed when the thread that starts it ends.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
