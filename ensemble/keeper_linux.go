package ensemble

import "syscall"

// boundToParent puts the child into a process group of its own, so that Ctrl-C in a terminal does
// not reach it, and has it killed when the thread that starts it ends.
func boundToParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
