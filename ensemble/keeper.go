package ensemble

import "os/exec"

// keeper starts processes and keeps them bound to this one.
//
// The kernel's promise to kill a child when its parent dies (PR_SET_PDEATHSIG, see prctl(2)) is
// bound to the thread that started the child, not to the process: when that thread ends, the
// child is killed though the process lives. Go ends threads as it likes, so the keeper starts all
// children on one goroutine that owns its thread for as long as the keeper is open. Children are born
// into the network that this thread is in.
type keeper struct {
	starts chan startRequest
	ended  chan struct{}
	err    error // why it has ended; valid when ended is closed
}

type startRequest struct {
	cmd    *exec.Cmd
	result chan error
}

// newKeeper returns a keeper that works on the thread on which do calls functions.
func newKeeper(do func(func() error) error) *keeper {
	k := &keeper{starts: make(chan startRequest), ended: make(chan struct{})}
	go func() {
		k.err = do(k.run)
		close(k.ended)
	}()
	return k
}

func (k *keeper) run() error {
	for request := range k.starts {
		request.cmd.SysProcAttr = boundToParent()
		request.result <- request.cmd.Start()
	}
	return nil
}

func (k *keeper) start(cmd *exec.Cmd) error {
	request := startRequest{cmd, make(chan error, 1)}
	select {
	case k.starts <- request:
		return <-request.result
	case <-k.ended:
		return k.err
	}
}

// close ends the keeper, after which start must not be called. No child of it may live then.
func (k *keeper) close() { close(k.starts) }
