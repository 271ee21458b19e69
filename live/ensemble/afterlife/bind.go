package afterlife

import (
	"os/exec"
	"runtime"

	"github.com/zktorture/zktorture/live/ensemble/posix"
)

// Bind starts a command in a process group of its own, so that Ctrl-C in a terminal does not reach it, and calls
// wait, which has to wait for its end. On Linux the kernel kills the command when this process ends, however it ends.
// It needs a Unix.
//
// The kernel does so when the thread ends that has started the command (prctl(2), PR_SET_PDEATHSIG), and Go ends
// threads as it likes. So both are done by one call of do, which has to call its argument on a thread that does
// nothing else meanwhile.
func Bind(cmd *exec.Cmd, do func(func() error) error, wait func()) error {
	if err := posix.Allowed(); err != nil {
		return err
	}
	cmd.SysProcAttr = bound()
	started := make(chan error, 2)
	go func() {
		started <- do(func() error {
			err := cmd.Start()
			started <- err
			if err == nil {
				wait()
			}
			return err
		})
	}()
	return <-started
}

// OnThread calls f on the thread of its caller, which is f's alone meanwhile.
func OnThread(f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return f()
}
