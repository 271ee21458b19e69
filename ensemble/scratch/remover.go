package scratch

import (
	"fmt"
	"io"
	"os/exec"
	"syscall"
)

// removing is what a remover does, a script for the shell. Whoever dies with the owner may still write a moment
// later; that is why it looks again a second after it has removed everything. It gives up after some seconds.
const removing = `trap '' HUP INT TERM
echo ready
read -r line
for attempt in 1 2 3 4 5 6 7 8 9 10; do
	[ -f "$1.lock" ] || exit 0
	rm -rf -- "$1"
	sleep 1
	[ -e "$1" ] || rm -f -- "$1.lock"
done`

// remover is a process that removes a folder when the process that started it has ended, or releases it.
type remover struct {
	cmd  *exec.Cmd
	life io.Closer // ends with this process
}

// newRemover returns when the remover is ready for whatever comes.
func newRemover(path string) (*remover, error) {
	cmd := exec.Command("sh", "-c", removing, "zktorture-remover", path)
	cmd.Dir = "/" // no folder is in use because of it
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	life, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	said, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("a shell is needed for that: %w", err)
	}
	if _, err := said.Read(make([]byte, 1)); err != nil {
		cmd.Wait()
		return nil, fmt.Errorf("the shell that was to do that has ended: %w", err)
	}
	return &remover{cmd, life}, nil
}

// release has the remover do what it is for.
func (r *remover) release() { r.life.Close() }

// wait returns when the remover has ended; how does not matter.
func (r *remover) wait() { r.cmd.Wait() }
