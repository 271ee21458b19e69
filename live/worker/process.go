package worker

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/zktorture/zktorture/internal/proc"
)

// lingerMax is how long the output of a process may stay open after its end, if a child of its own has it.
const lingerMax = time.Second

// process is a worker's process, with pipes to its standard input and output.
type process struct {
	pid    int
	in     *os.File
	out    *os.File
	stderr *tail
	ended  chan struct{} // closed when it has ended
	how    string        // it has ended; valid then
}

// spawn starts a command by the shell.
func spawn(command string, stderr io.Writer) (*process, error) {
	cmd := exec.Command("sh", "-c", command)
	theirIn, in, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("worker: no pipe to a worker: %w", err)
	}
	defer theirIn.Close()
	out, theirOut, err := os.Pipe()
	if err != nil {
		in.Close()
		return nil, fmt.Errorf("worker: no pipe from a worker: %w", err)
	}
	defer theirOut.Close()
	p := &process{in: in, out: out, stderr: &tail{to: stderr}, ended: make(chan struct{})}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirIn, theirOut, p.stderr
	cmd.WaitDelay = lingerMax
	if err := proc.Start(cmd, func() { p.wait(cmd) }); err != nil {
		in.Close()
		out.Close()
		return nil, fmt.Errorf("worker: %s: cannot be started: %w", command, err)
	}
	p.pid = cmd.Process.Pid
	return p, nil
}

// wait waits for the end of the process.
func (p *process) wait(cmd *exec.Cmd) {
	proc.EndGroup(cmd.Process.Pid)
	p.how = "exit status 0"
	if err := cmd.Wait(); err != nil {
		p.how = err.Error()
	}
	p.in.Close()
	p.out.SetReadDeadline(time.Now().Add(lingerMax))
	close(p.ended)
}

var errNoProcess = errors.New("worker: there is no process: it has died, or is only being started")

// signal sends a signal to the process and its group.
func (p *process) signal(s syscall.Signal) error {
	select {
	case <-p.ended:
		return errNoProcess
	default:
	}
	if err := proc.SignalGroup(p.pid, s); err == syscall.ESRCH {
		return errNoProcess
	} else if err != nil {
		return fmt.Errorf("worker: signal %v to process %d: %w", s, p.pid, err)
	}
	return nil
}

// kill ends the process and waits until it has ended.
func (p *process) kill() {
	p.signal(syscall.SIGKILL)
	<-p.ended
}

// String describes the process and how it ended, with the end of what it wrote to its standard error.
func (p *process) String() string {
	text := fmt.Sprintf("process %d", p.pid)
	select {
	case <-p.ended:
		text += " ended with " + p.how
	default:
	}
	if said := p.stderr.String(); said != "" {
		text += "; the end of its standard error:\n\t" + strings.ReplaceAll(said, "\n", "\n\t")
	}
	return text
}

// tailMax bounds what is kept of a standard error for messages, in bytes.
const tailMax = 2 << 10

// tail passes on what is written to it and keeps the end.
type tail struct {
	to io.Writer // may be nil

	mu  sync.Mutex
	end []byte
}

// Write implements [io.Writer]. It keeps what cannot be passed on, too.
func (t *tail) Write(data []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end = append(t.end, data...)
	t.end = t.end[max(0, len(t.end)-tailMax):]
	if t.to != nil {
		t.to.Write(data)
	}
	return len(data), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.end))
}
