// Package afterlife cleans up after this process, however it ends: [Bind] lets the kernel kill a child together with
// it, and [Start] starts a shell that runs something after it. The shell waits for the end of its standard input, whose
// other end only this process has. It has a session of its own, so that signals to the group or terminal of this
// process do not reach it.
package afterlife

import (
	"fmt"
	"io"
	"os/exec"

	"github.com/zktorture/zktorture/live/ensemble/posix"
)

// waiting is what the shell does first.
const waiting = `trap '' HUP INT TERM
echo ready
read -r line
`

// Executor is a shell that waits for the end of this process. It is released when it is garbage-collected.
type Executor struct {
	cmd  *exec.Cmd
	life io.Closer // closed when this process ends
}

// Start starts a shell that runs a script when this process has ended, or releases it, and returns when the shell
// waits for that. The script has a name and arguments, and must end by itself. It needs a Unix.
func Start(script, name string, args ...string) (*Executor, error) {
	if err := posix.Allowed(); err != nil {
		return nil, err
	}
	cmd := exec.Command("sh", append([]string{"-c", waiting + script, name}, args...)...)
	cmd.Dir = "/" // no folder is in use because of it
	cmd.SysProcAttr = posix.OwnSession()
	life, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	said, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("this needs a shell: %w", err)
	}
	if _, err := said.Read(make([]byte, 1)); err != nil {
		cmd.Wait()
		return nil, fmt.Errorf("the shell that was to do that has ended: %w", err)
	}
	return &Executor{cmd, life}, nil
}

// Release has the shell run its script now.
func (e *Executor) Release() { e.life.Close() }

// Wait returns when the shell has ended; how does not matter.
func (e *Executor) Wait() { e.cmd.Wait() }

// Pid is the shell's process.
func (e *Executor) Pid() int { return e.cmd.Process.Pid }
