// Package afterlife has something done when this process has ended, however that happens, by a shell that waits
// for the end of its standard input, whose other end only this process has. The shell is in a session of its own, so that
// what ends a process group, a terminal or its user's patience does not reach it.
package afterlife

import (
	"fmt"
	"io"
	"os/exec"
	"syscall"
)

// waiting is what the shell does first.
const waiting = `trap '' HUP INT TERM
echo ready
read -r line
`

// Executor is a shell that waits for the end of this process. Whoever has started it has to hold on to it: it is released
// when it is forgotten.
type Executor struct {
	cmd  *exec.Cmd
	life io.Closer // ends with this process
}

// Start starts a shell that carries out a script when this process has ended, or releases it, and returns when it is
// ready for that. The script is called by a name and gets arguments; it must come to an end by itself.
func Start(script, name string, args ...string) (*Executor, error) {
	cmd := exec.Command("sh", append([]string{"-c", waiting + script, name}, args...)...)
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
	return &Executor{cmd, life}, nil
}

// Release has the shell do what it is for.
func (e *Executor) Release() { e.life.Close() }

// Wait returns when the shell has ended; how does not matter.
func (e *Executor) Wait() { e.cmd.Wait() }

// Pid is the shell's process.
func (e *Executor) Pid() int { return e.cmd.Process.Pid }
