package runner

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// process is a child's process, with pipes to its standard input and output.
type process struct {
	cmd   *exec.Cmd
	in    *os.File      // to it
	out   *os.File      // from it
	wrote ends          // to its standard error
	ended chan struct{} // closed when it has ended, and all that it has started
}

// spawn starts a command.
func spawn(cmd *exec.Cmd) (*process, error) {
	theirIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirIn.Close()
	out, theirOut, err := os.Pipe()
	if err != nil {
		in.Close()
		return nil, err
	}
	defer theirOut.Close()
	p := &process{cmd: cmd, in: in, out: out, ended: make(chan struct{})}
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = theirIn, theirOut, &p.wrote, graceMax
	guard := newGuard(cmd)
	if err := bind(cmd, func() { p.wait(guard) }); err != nil {
		guard.release()
		in.Close()
		out.Close()
		return nil, err
	}
	expose(cmd.Process.Pid)
	return p, nil
}

// wait waits for the end of the process and ends what it leaves behind. Its reader sees the end of what it wrote then.
func (p *process) wait(guard guard) {
	endGroup(p.cmd.Process.Pid)
	guard.release()
	p.cmd.Wait() // how it ended is in its state
	p.in.Close()
	close(p.ended)
}

// kill ends the process and all that it has started, and waits for that.
func (p *process) kill() {
	select {
	case <-p.ended:
	default:
		killGroup(p.cmd.Process)
		<-p.ended
	}
}

// quit has the process say what it is doing, and end.
func (p *process) quit() { quit(p.cmd.Process) }

// resident is how many MB of memory the process has; 0: not known.
func (p *process) resident() int { return resident(p.cmd.Process.Pid) }

// said is what it wrote to its standard error.
func (p *process) said() string { return p.wrote.String() }

// interrupted is the last that a command of this project says when it was told to end.
const interrupted = ": interrupted\n"

// post says why a process has ended that was not told to. starved: the kernel has ended a process for its memory.
func (p *process) post(starved bool) *failure {
	e := &failure{Class: Panicked, Said: brief(p.said())}
	crash, where := crashIn(p.said())
	switch signal, outside := signalOf(p.cmd.ProcessState); {
	case outside && starved && signal == "killed":
		e.Class, e.Text = OutOfMemory, "the kernel's OOM killer ended its process"
	case outside:
		e.Class, e.Text = Killed, "its process was ended by a signal: "+signal
	case strings.HasSuffix(e.Said, interrupted), crash == "" && quitBegins.MatchString(p.said()):
		e.Class, e.Text = Killed, "its process was told to end by a signal"
	case crash != "":
		e.Text, e.Detail = crash, where
		if outOfMemory(crash) {
			e.Class = OutOfMemory
		}
	default:
		e.Text, e.Detail = fmt.Sprintf("its process ended by itself: %v", p.cmd.ProcessState), brief(p.said())
	}
	return e
}
