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
// threads as it likes. So both are done on a thread that does nothing else meanwhile.
func Bind(cmd *exec.Cmd, wait func()) error {
	if err := posix.Allowed(); err != nil {
		return err
	}
	cmd.SysProcAttr = bound()
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			wait()
		}
	}()
	return <-started
}
