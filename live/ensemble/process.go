package ensemble

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/zktorture/zktorture/internal/proc"
)

// endMax bounds how long a process may take to end after a signal that ends it.
const endMax = 10 * time.Second

// process is a server's process.
type process struct {
	cmd     *exec.Cmd
	log     string        // file
	logFrom int64         // where in the file the process's output begins
	ended   chan struct{} // closed when the process has ended and is reaped
}

func launch(cmd *exec.Cmd, dir string) (*process, error) {
	p := &process{cmd: cmd, log: filepath.Join(dir, "server.log"), ended: make(chan struct{})}
	file, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("ensemble: cannot write the log of a server: %w", err)
	}
	defer file.Close() // the child has its own
	if p.logFrom, err = file.Seek(0, io.SeekEnd); err != nil {
		return nil, fmt.Errorf("ensemble: cannot write the log of a server: %w", err)
	}
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, file, file
	if err := proc.Start(cmd, p.wait); err != nil {
		return nil, fmt.Errorf("ensemble: cannot start a server: %w", err)
	}
	return p, nil
}

func (p *process) wait() {
	p.cmd.Wait() // how it ended does not matter: its log says why
	close(p.ended)
}

func (p *process) alive() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

func (p *process) signal(s syscall.Signal) error {
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("ensemble: signal %v to pid %d: %w", s, p.cmd.Process.Pid, err)
	}
	return nil
}

// end sends the signals and waits until the process is gone.
func (p *process) end(signals ...syscall.Signal) error {
	for _, s := range signals {
		if err := p.signal(s); err != nil {
			return err
		}
	}
	select {
	case <-p.ended:
		return nil
	case <-time.After(endMax):
		return fmt.Errorf("ensemble: pid %d did not end within %v of signal %v", p.cmd.Process.Pid, endMax, signals[0])
	}
}

// logMax bounds how much of a log is read, in bytes.
const logMax = 64 << 10

// output returns the end of what the process has logged.
func (p *process) output() string {
	file, err := os.Open(p.log)
	if err != nil {
		return ""
	}
	defer file.Close()
	from := p.logFrom
	if info, err := file.Stat(); err == nil {
		from = max(from, info.Size()-logMax)
	}
	content, _ := io.ReadAll(io.NewSectionReader(file, from, logMax))
	return string(bytes.TrimSpace(content))
}

// tail returns the last lines of the log, indented, for an error message.
func (p *process) tail() string {
	const linesMax = 15
	lines := strings.Split(p.output(), "\n")
	lines = lines[max(0, len(lines)-linesMax):]
	return "the end of " + p.log + ":\n\t" + strings.Join(lines, "\n\t")
}

// portTaken reports whether the server found one of its ports in use.
func (p *process) portTaken() bool {
	log := p.output()
	return strings.Contains(log, "BindException") || strings.Contains(log, "Address already in use")
}

// why is the error of a process that has ended.
func (p *process) why() error {
	if p.portTaken() {
		return errPortTaken
	}
	return errEnded
}
