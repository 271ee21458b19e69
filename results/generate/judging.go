package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/zktorture/zktorture/results/internal/longhistory"
	"github.com/zktorture/zktorture/results/internal/measure"
)

// The promised limits of torture check, on one core.
const (
	checkOperations = 1_000_000
	checkClients    = 16
	checkSeconds    = 4.0
	checkMB         = 500
	certificateMax  = 6
	streamMB        = 200
	hardSeconds     = 7.0 // for a limit of 5, on a shared machine
	hardMB          = 512 + 256
)

// judging is the state of a measurement.
type judging struct {
	ctx      context.Context
	dir      string
	torture  string
	cores    int // of the command
	problems []error
}

// newJudging builds the command in a folder of its own, which the caller removes.
func newJudging(ctx context.Context) (*judging, error) {
	dir, err := os.MkdirTemp("", "judging")
	if err != nil {
		return nil, err
	}
	j := &judging{ctx: ctx, dir: dir, torture: filepath.Join(dir, "torture"), cores: 1}
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", j.torture,
		"./cmd/torture").CombinedOutput(); err != nil {
		os.RemoveAll(dir)
		return nil, fmt.Errorf("torture does not compile: %s", out)
	}
	return j, nil
}

func measureJudging(ctx context.Context) (any, error) {
	j, err := newJudging(ctx)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(j.dir)
	data := facts{"Operations": checkOperations, "Clients": checkClients, "Window": longhistory.Window}
	for _, section := range []struct {
		name    string
		measure func() (any, error)
	}{
		{"Whole", j.whole}, {"Streams", j.streams}, {"Hard", j.limits},
	} {
		if data[section.name], err = section.measure(); err != nil {
			return nil, err
		}
	}
	return data, errors.Join(j.problems...)
}

// keep records a broken promise.
func (j *judging) keep(ok bool, format string, args ...any) {
	if !ok {
		j.problems = append(j.problems, fmt.Errorf("%w: "+format, append([]any{errUnexpected}, args...)...))
	}
}

// checked is the result of one torture check.
type checked struct {
	Verdict     string
	Rule        string  // that was broken
	Certificate int     // in operations
	Processor   float64 // seconds
	Wall        float64 // seconds
	MB          int64
	output      string
}

// named is the result of a named history.
type named struct {
	Name string
	checked
}

// sized is the result of a history of some size.
type sized struct {
	Model      string
	Operations int
	checked
}

var stamps = regexp.MustCompile(`\[\d+\.\.\d*\]`)

// check runs torture check.
func (j *judging) check(in io.Reader, args ...string) (c checked, err error) {
	command := exec.CommandContext(j.ctx, j.torture, append([]string{"check"}, args...)...)
	command.Env = append(os.Environ(), fmt.Sprintf("GOMAXPROCS=%d", j.cores))
	command.Stdin = in
	began := time.Now()
	out, err := command.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		return c, err
	}
	c.output, c.Wall = string(out), time.Since(began).Seconds()
	used := command.ProcessState
	c.Processor = (used.UserTime() + used.SystemTime()).Seconds()
	c.MB = measure.MaxResidentMB(used)
	lines := strings.Split(strings.TrimSpace(c.output), "\n")
	c.Verdict, _, _ = strings.Cut(lines[len(lines)-1], ":")
	if c.Verdict == "violation" {
		c.Rule = strings.Split(lines[0], ": ")[1]
		c.Certificate = len(stamps.FindAllString(lines[0], -1))
	}
	return c, nil
}

// file writes a history into a file.
func (j *judging) file(name string, write func(io.Writer) error) (string, error) {
	f, err := os.Create(filepath.Join(j.dir, name))
	if err != nil {
		return "", err
	}
	buffered := bufio.NewWriter(f)
	return f.Name(), errors.Join(write(buffered), buffered.Flush(), f.Close())
}

// wholeHistory is a history that the command reads whole.
type wholeHistory struct {
	what string
	longhistory.Config
}

var wholeHistories = []wholeHistory{
	{"queue", longhistory.Config{Model: "queue"}},
	{"queue, values are texts", longhistory.Config{Model: "queue", Texts: true}},
	{"queue, a value overtakes another", longhistory.Config{Model: "queue", Planted: true}},
	{"queue, 10 % peeks", longhistory.Config{Model: "queue", Peeks: 0.1}},
	{"lock", longhistory.Config{Model: "lock"}},
	{"lock, two holders at once", longhistory.Config{Model: "lock", Planted: true}},
}

func (h wholeHistory) verdict() string {
	if h.Planted {
		return "violation"
	}
	return "ok"
}

// history writes a million operations into a file.
func (j *judging) history(h wholeHistory) (string, error) {
	return j.file("whole.jsonl", func(w io.Writer) error {
		c := h.Config
		c.Operations, c.Clients, c.Unknown, c.Seed = checkOperations, checkClients, 0.01, 1
		return longhistory.Write(w, c)
	})
}

// whole measures the command on histories that it reads whole.
func (j *judging) whole() (any, error) {
	var all []named
	for _, h := range wholeHistories {
		file, err := j.history(h)
		if err != nil {
			return nil, err
		}
		c, err := j.check(nil, file, "--model", h.Model)
		if err != nil {
			return nil, err
		}
		all = append(all, named{h.what, c})
		j.keep(c.Verdict == h.verdict() && c.Certificate <= certificateMax, "%s: %s", h.what, c.output)
		j.keep(h.Peeks > 0 || c.Processor <= checkSeconds && c.MB <= checkMB,
			"%s: %.2f s and %d MB, more than %g s and %d MB",
			h.what, c.Processor, c.MB, checkSeconds, checkMB)
	}
	return all, nil
}

// streams measures the command on histories from a pipe, of which it keeps only what it needs.
func (j *judging) streams() (any, error) {
	var all []sized
	for _, model := range []string{"queue", "lock"} {
		for _, n := range []int{100_000, 1_000_000, 10_000_000} {
			in, out := io.Pipe()
			go func() {
				buffered := bufio.NewWriter(out)
				err := longhistory.Write(buffered,
					longhistory.Config{Model: model, Operations: n, Clients: checkClients, Seed: 1})
				out.CloseWithError(cmp.Or(err, buffered.Flush()))
			}()
			c, err := j.check(in, "-", "--model", model, "--window", strconv.Itoa(longhistory.Window))
			in.Close()
			if err != nil {
				return nil, err
			}
			all = append(all, sized{model, n, c})
			j.keep(c.Verdict == "ok" && c.MB <= streamMB, "%s of %d operations, streamed: %d MB, %s", model,
				n, c.MB, c.output)
		}
	}
	return all, nil
}

// limits measures the hardest history with a budget.
func (j *judging) limits() (any, error) {
	var all []sized
	for _, n := range []int{20, 200, 2000, 20_000} {
		file, err := j.file("hard.jsonl", func(w io.Writer) error { return longhistory.WriteHard(w, n) })
		if err != nil {
			return nil, err
		}
		c, err := j.check(nil, file, "--model", "priorityqueue", "--timeout", "5s", "--memory", "512")
		if err != nil {
			return nil, err
		}
		all = append(all, sized{"priorityqueue", n, c})
		j.keep(c.Verdict == "violation" && c.Wall <= hardSeconds && c.MB <= hardMB,
			"the hard history of %d: %.1f s, %d MB, %s", n, c.Wall, c.MB, c.output)
	}
	return all, nil
}
