package runner

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/zktorture/zktorture/cmd/internal/campaign/units"
)

const (
	unitsMax   = 500                   // that a child runs before another one takes its place
	keptShare  = 2                     // one part of so many of the memory may be kept between units
	answerMax  = 64 << 20              // bytes
	startMax   = 15 * time.Minute      // for a child to be ready: in exact mode it compiles the standard library
	graceMax   = 10 * time.Second      // for a child to say what it was doing, and for the rest of its output
	lookEvery  = 50 * time.Millisecond // at its memory
	softMemory = 90                    // percent of the memory, from which the collector works harder
)

// child is a process that answers questions. One goroutine at a time may ask.
type child struct {
	program Program
	memory  int // MB
	clock   clock
	process *process
	lines   <-chan line
	folder  string // for its temporary files, "" for the system's
	ready   units.Readiness
	done    int // units
}

// line is a line of a child's standard output, or why there is none.
type line struct {
	text []byte
	err  error
}

// start starts a child and waits until it is ready.
func (r *Runner) start(ctx context.Context, p Program, exact bool) (*child, error) {
	args := []string{"part", "--plan", r.cfg.File, "--serve"}
	if exact {
		args = append(args, "--exact")
	}
	c := &child{program: p, memory: r.cfg.Plan.UnitMemory(), clock: r.clock, folder: r.folder()}
	cmd := exec.Command(p.Path, args...)
	cmd.Env = append(os.Environ(), c.environment()...)
	var err error
	if c.process, err = spawn(cmd); err != nil {
		os.RemoveAll(c.folder)
		return nil, &failure{Class: NoProgram, Text: p.Path + " cannot be started", Cause: err}
	}
	c.lines = linesOf(c.process.out)
	if err := c.isReady(ctx, exact); err != nil {
		c.kill()
		return nil, err
	}
	return c, nil
}

// environment is what a child has beyond what this process has. The simulator does one thing at a time, and takes up
// to twice the processor time if it has more than one processor. GOTRACEBACK shows what runs on other threads.
func (c *child) environment() []string {
	env := []string{fmt.Sprintf("GOMEMLIMIT=%dKiB", c.memory*1000*1000/1024*softMemory/100), "GOTRACEBACK=crash"}
	if os.Getenv("GOMAXPROCS") == "" {
		env = append(env, "GOMAXPROCS=1")
	}
	if c.folder != "" {
		env = append(env, "TMPDIR="+c.folder)
	}
	return append(env, c.program.env...)
}

// isReady waits until the child is ready, and sees to it that it is the program that was asked for.
func (c *child) isReady(ctx context.Context, exact bool) error {
	text, err := c.answer(ctx, startMax)
	if err == nil {
		err = c.understood(text, func(text []byte) error { return json.Unmarshal(text, &c.ready) })
	}
	if e := (*failure)(nil); errors.As(err, &e) {
		if e.Class != Killed {
			e.Text, e.Class = fmt.Sprintf("%s did not become ready: %s", c.program.Path, e.Text), NoProgram
		}
		return e
	}
	wrong := ""
	switch system := runtime.GOOS + "/" + runtime.GOARCH; {
	case !c.ready.Ready:
		wrong = "did not say that it was ready"
	case c.ready.Exact != exact:
		wrong = fmt.Sprintf("says exact: %v", c.ready.Exact)
	case c.ready.System != system:
		wrong = fmt.Sprintf("is for %s, and this is %s", c.ready.System, system)
	default:
		return nil
	}
	return &failure{Class: NoProgram, Text: c.program.Path + " " + wrong}
}

// ask asks a question and waits for the answer.
func (c *child) ask(ctx context.Context, q units.Question, limit time.Duration) ([]byte, error) {
	text, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	c.done++
	go c.process.in.Write(append(text, '\n')) // what it does not read, as it has ended or hangs, has no answer
	return c.answer(ctx, limit)
}

// answer waits for the next line.
func (c *child) answer(ctx context.Context, limit time.Duration) ([]byte, error) {
	killsBefore := oomKills()
	over, stop := c.clock.after(limit)
	defer stop()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		select {
		case l, more := <-c.lines:
			if more && l.err == nil {
				return l.text, nil
			}
			return nil, c.noAnswer(l.err, killsBefore)
		case <-over:
			return nil, c.froze(limit)
		case <-ctx.Done():
			c.process.kill()
			return nil, &failure{Class: Killed, Cause: context.Cause(ctx)}
		case <-look.C:
			if err := c.withinMemory(); err != nil {
				return nil, err
			}
		}
	}
}

// withinMemory ends a child that takes too much memory.
func (c *child) withinMemory() error {
	resident := c.process.resident()
	if resident <= c.memory {
		return nil
	}
	c.process.kill()
	return &failure{Class: OutOfMemory, Said: brief(c.process.said()),
		Text: fmt.Sprintf("its process may have %d MB", c.memory), Detail: fmt.Sprintf("it had %d MB", resident)}
}

// froze ends a child that takes too long, after it has said what it is doing.
func (c *child) froze(limit time.Duration) error {
	c.process.quit()
	grace, stop := c.clock.after(graceMax)
	defer stop()
	select {
	case <-c.process.ended:
	case <-grace:
	}
	c.process.kill()
	said := c.process.said()
	return &failure{Class: Frozen, Text: fmt.Sprintf("no answer after %v", limit), Detail: doing(said), Said: brief(said)}
}

// noAnswer says why there are no more lines.
func (c *child) noAnswer(err error, killsBefore int64) error {
	if err != nil && !errors.Is(err, io.EOF) {
		c.process.kill()
		return &failure{Class: Failed, Cause: err, Said: brief(c.process.said())}
	}
	grace, stop := c.clock.after(graceMax)
	defer stop()
	select {
	case <-c.process.ended:
	case <-grace:
		c.process.kill()
		const text = "its process closed its standard output and went on"
		return &failure{Class: Failed, Text: text, Said: brief(c.process.said())}
	}
	c.process.kill()
	return c.process.post(oomKills() > killsBefore)
}

// understood reads an answer. It is a failure if the child says so, or says something that is no answer.
func (c *child) understood(text []byte, read func([]byte) error) error {
	var refusal units.Refusal
	err := json.Unmarshal(text, &refusal)
	if err == nil && refusal.Error != "" {
		return &failure{Class: Failed, Text: refusal.Error, Said: brief(c.process.said())}
	}
	if err == nil {
		err = read(text)
	}
	if own := (*failure)(nil); err == nil || errors.As(err, &own) {
		return err
	}
	return &failure{Class: Failed, Said: brief(c.process.said()),
		Text: fmt.Sprintf("its process wrote to standard output what is not an answer (%v): %.200q", err, text)}
}

// waits says whether the process is there, and says nothing.
func (c *child) waits() bool {
	select {
	case <-c.process.ended:
		return false
	default:
		return len(c.lines) == 0
	}
}

// spent says whether another child should take its place.
func (c *child) spent() bool {
	return c.done >= unitsMax || c.process.resident() > c.memory/keptShare
}

// kill ends the process and all that it has started, waits for that, and removes its temporary files.
func (c *child) kill() {
	c.process.kill()
	for range c.lines { // its reader ends
	}
	os.RemoveAll(c.folder)
}

// crash adds to an error what package sim has kept of the episode in which the process ended.
func (c *child) crash(e *failure) {
	files, _ := filepath.Glob(filepath.Join(c.folder, "zktorture-crash-*.json"))
	if c.folder == "" || len(files) != 1 || !e.Class.Counts() {
		return
	}
	text, err := os.ReadFile(files[0])
	text = bytes.TrimRight(text, "\x00\n")
	var head struct {
		Episode *int `json:"episode"`
	}
	if err != nil || json.Unmarshal(text, &head) != nil || head.Episode == nil {
		return
	}
	e.Crash = text
	e.Detail = strings.TrimPrefix(fmt.Sprintf("%s\nin episode %d", e.Detail, *head.Episode), "\n")
}

// linesOf reads lines. The channel is closed after the last one, and after an error.
func linesOf(out io.ReadCloser) <-chan line {
	lines := make(chan line, 1)
	go func() {
		defer close(lines)
		defer out.Close()
		for in := bufio.NewReaderSize(out, 1<<16); ; {
			text, err := readLine(in)
			lines <- line{text, err}
			if err != nil {
				return
			}
		}
	}()
	return lines
}

// readLine reads a line that is not longer than an answer may be.
func readLine(in *bufio.Reader) (all []byte, err error) {
	for {
		piece, err := in.ReadSlice('\n')
		all = append(all, piece...)
		switch {
		case err == nil:
			return bytes.TrimSuffix(all, []byte("\n")), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return all, cmp.Or(err, io.EOF)
		case len(all) > answerMax:
			return nil, fmt.Errorf("its answer is longer than %d MB", answerMax>>20)
		}
	}
}
