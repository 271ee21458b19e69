package ensemble

import (
	"os/exec"
	"runtime"
)

// keeper starts processes and keeps them bound to this one.
//
// The kernel's promise to kill a child when its parent dies (PR_SET_PDEATHSIG, see prctl(2)) is
// bound to the thread that started the child, not to the process: when that thread ends, the
// child is killed though the process lives. Go ends threads as it likes, so the keeper starts all
// children on one goroutine that owns its thread for as long as the keeper is open.
type keeper struct {
	starts chan startRequest
}

type startRequest struct {
	cmd    *exec.Cmd
	result chan error
}

func newKeeper() *keeper {
	k := &keeper{starts: make(chan startRequest)}
	go k.run()
	return k
}

// run never gives the thread back: it ends with the goroutine, and children that still live with it.
func (k *keeper) run() {
	runtime.LockOSThread()
	for request := range k.starts {
		request.cmd.SysProcAttr = boundToParent()
		request.result <- request.cmd.Start()
	}
}

func (k *keeper) start(cmd *exec.Cmd) error {
	request := startRequest{cmd, make(chan error, 1)}
	k.starts <- request
	return <-request.result
}

// close ends the keeper, after which start must not be called.
func (k *keeper) close() { close(k.starts) }
