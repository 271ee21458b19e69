package runner

import (
	"os"
	"os/exec"
	"syscall"

	"github.com/zktorture/zktorture/live/ensemble/afterlife"
	"github.com/zktorture/zktorture/live/ensemble/posix"
)

// bind starts a command in a process group of its own, and calls wait, which waits for its end.
func bind(cmd *exec.Cmd, wait func()) error { return afterlife.Bind(cmd, wait) }

// killGroup ends a process and its group.
func killGroup(p *os.Process) { posix.SignalGroup(p.Pid, syscall.SIGKILL) }

// quit has the Go runtime of a process write what its goroutines do.
func quit(p *os.Process) { p.Signal(syscall.SIGQUIT) }

// signalOf names the signal that has ended a process, if somebody else has sent it: the runtime of Go ends a process
// by others.
func signalOf(state *os.ProcessState) (name string, outside bool) {
	status, ok := state.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() {
		return "", false
	}
	switch s := status.Signal(); s {
	case syscall.SIGKILL, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP:
		return s.String(), true
	}
	return "", false
}
