//go:build unix

package proc

import (
	"os"
	"syscall"
)

// Stop pauses a process, and Continue lets it go on.
const (
	Stop     = syscall.SIGSTOP
	Continue = syscall.SIGCONT
)

// Allowed returns an error if this system is no Unix.
func Allowed() error { return nil }

// OwnGroup has a command start in a process group of its own.
func OwnGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// SignalGroup sends a signal to all processes of a group.
func SignalGroup(leader int, s syscall.Signal) error { return syscall.Kill(-leader, s) }

// tryLock locks a file for this process (flock(2)), or fails at once if another has locked it.
func tryLock(file *os.File) error {
	return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}
