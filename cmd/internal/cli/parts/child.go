package parts

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Child is a process that answers questions, as lines of JSON. One goroutine at a time may ask.
type Child struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	answers chan answer
	said    tail
}

// ErrDied is the error of a question to a child that has ended.
var ErrDied = errors.New("its process has died")

// answer is a line of a child, or why there is none.
type answer struct {
	text []byte
	err  error
}

// Limits are what a child may take for an answer; 0 is no limit.
type Limits struct {
	Time   time.Duration
	Memory int64 // bytes; beyond Linux only the collector knows of it
}

// waitMax is how long others may hold a child's output open after its end.
const waitMax = 10 * time.Second

// answerMax is how long an answer may be, in bytes.
const answerMax = 256 << 20

// StartChild starts a process. What it writes to standard error goes to the command's, if it has one, and the end of it
// is kept.
func StartChild(cmd *exec.Cmd) (*Child, error) {
	c := &Child{cmd: cmd, answers: make(chan answer, 1)}
	shown := cmd.Stderr
	if shown == nil {
		shown = io.Discard
	}
	cmd.Stderr, cmd.WaitDelay = io.MultiWriter(&c.said, shown), waitMax
	var err error
	if c.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(c.answers)
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, answerMax)
		for lines.Scan() {
			c.answers <- answer{text: bytes.Clone(lines.Bytes())}
		}
		c.answers <- answer{err: errors.Join(lines.Err(), cmd.Wait(), io.EOF)}
	}()
	return c, nil
}

// Ask asks a question and waits for the answer. A child that takes more than its limits is killed, as is one whose asker
// does not wait any more; after an error there are no more answers.
func (c *Child) Ask(ctx context.Context, question, to any, limits Limits) error {
	text, err := json.Marshal(question)
	if err != nil {
		return err
	}
	go c.in.Write(append(text, '\n')) // what a child does not read has no answer
	var over <-chan time.Time
	if limits.Time > 0 {
		timer := time.NewTimer(limits.Time)
		defer timer.Stop()
		over = timer.C
	}
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for {
		select {
		case a, more := <-c.answers:
			switch {
			case a.err != nil || !more:
				return fmt.Errorf("%w: %s", ErrDied, c.lastWords())
			default:
				return json.Unmarshal(a.text, to)
			}
		case <-over:
			c.Kill()
			return fmt.Errorf("no answer after %v", limits.Time)
		case <-ctx.Done():
			c.Kill()
			return context.Cause(ctx)
		case <-look.C:
			if has := c.Resident(); limits.Memory > 0 && has > limits.Memory {
				c.Kill()
				return fmt.Errorf("its process may have %d MB of memory, and has %d MB", limits.Memory/1_000_000, has/1_000_000)
			}
		}
	}
}

// End has the child end by itself, and waits for that.
func (c *Child) End() {
	c.in.Close()
	for range c.answers {
	}
}

// Kill ends the child at once, and waits for that.
func (c *Child) Kill() {
	_ = c.cmd.Process.Kill() // it may have ended
	c.End()
}

// Resident is how many bytes of memory the child has, as Linux says: the second field of its statm, in pages
// (proc_pid_statm(5)); 0 is not known.
func (c *Child) Resident() int64 {
	statm, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", c.cmd.Process.Pid))
	fields := strings.Fields(string(statm))
	if err != nil || len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize())
}

// lastWords is why a child has ended: the line in which Go says it, or how it ended.
func (c *Child) lastWords() string {
	text := c.said.String()
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			return strings.TrimSpace(line)
		}
	}
	if text = strings.TrimSpace(text); text != "" {
		return fmt.Sprintf("%v: %s", c.cmd.ProcessState, text[strings.LastIndex(text, "\n")+1:])
	}
	return fmt.Sprint(c.cmd.ProcessState)
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// tailMax is how much is kept, in bytes: the stacks of many goroutines.
const tailMax = 1 << 20

// Write implements [io.Writer].
func (t *tail) Write(data []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, data...)
	if over := len(t.text) - tailMax; over > 0 {
		t.text = append(t.text[:0], t.text[over:]...)
	}
	return len(data), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}
