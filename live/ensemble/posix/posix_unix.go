//go:build unix

// Package posix has what the processes of servers and workers need of a Unix: signals, process groups, sessions and
// locks on files. Elsewhere everything returns one error, which says where it works.
package posix

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

// OwnSession has a command start in a session of its own.
func OwnSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// SignalGroup sends a signal to all processes of a group.
func SignalGroup(leader int, s syscall.Signal) error { return syscall.Kill(-leader, s) }

// TryLock locks a file for this process (flock(2)), or fails at once if another has locked it.
func TryLock(file *os.File) error {
	return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}

// OpenOwn opens a file to read it if it is a regular one of this user, and not a symbolic link.
func OpenOwn(name string) (*os.File, error) {
	file, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if !own(file) {
		file.Close()
		return nil, os.ErrPermission
	}
	return file, nil
}

func own(file *os.File) bool {
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}
