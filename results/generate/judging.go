package main

import (
	"bufio"
	"bytes"
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
	"syscall"
	"time"

	"github.com/zktorture/zktorture/internal/longhistory"
)

// What is promised of torture check, on one core.
const (
	checkOperations = 1_000_000
	checkClients    = 16
	checkSeconds    = 4.0
	checkMB         = 500
	monitorSeconds  = 0.5
	certificateMax  = 6
	streamMB        = 200
	hardSeconds     = 7.0 // for a limit of 5, on a machine that is not alone
	hardMB          = 512 + 256
)

// newJudging builds the command in a folder of its own, which the caller removes.
func newJudging(ctx context.Context, p *page) (*judging, error) {
	dir, err := os.MkdirTemp("", "judging")
	if err != nil {
		return nil, err
	}
	j := &judging{ctx: ctx, page: p, dir: dir, torture: filepath.Join(dir, "torture")}
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", j.torture, "./cmd/torture").CombinedOutput(); err != nil {
		os.RemoveAll(dir)
		return nil, fmt.Errorf("torture does not compile: %s", out)
	}
	return j, nil
}

func measureJudging(ctx context.Context, p *page) error {
	j, err := newJudging(ctx, p)
	if err != nil {
		return err
	}
	defer os.RemoveAll(j.dir)
	p.line("# How fast histories are judged")
	p.line("")
	p.line("On one core (GOMAXPROCS=1). Seconds are of the processor, user and system; memory is the largest resident set.")
	for _, section := range []func() error{j.whole, j.streams, j.monitors, j.beside, j.limits} {
		p.line("")
		if err := section(); err != nil {
			return err
		}
	}
	return errors.Join(j.problems...)
}

// judging is the page under way.
type judging struct {
	*page
	ctx      context.Context
	dir      string
	torture  string
	problems []error
}

// keep notes that something is not as promised.
func (j *judging) keep(ok bool, format string, args ...any) {
	if !ok {
		j.problems = append(j.problems, fmt.Errorf("%w: "+format, append([]any{errUnexpected}, args...)...))
	}
}

// checked is what came of one torture check.
type checked struct {
	verdict     string
	rule        string
	certificate int // operations
	processor   float64
	wall        float64
	mb          int64
	output      string
}

var stamps = regexp.MustCompile(`\[\d+\.\.\d*\]`)

// check runs torture check on one core.
func (j *judging) check(in io.Reader, args ...string) (c checked, err error) {
	command := exec.CommandContext(j.ctx, j.torture, append([]string{"check"}, args...)...)
	command.Env = append(os.Environ(), "GOMAXPROCS=1")
	command.Stdin = in
	began := time.Now()
	out, err := command.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		return c, err
	}
	c.output, c.wall = string(out), time.Since(began).Seconds()
	used := command.ProcessState
	c.processor = (used.UserTime() + used.SystemTime()).Seconds()
	c.mb = used.SysUsage().(*syscall.Rusage).Maxrss >> 10
	lines := strings.Split(strings.TrimSpace(c.output), "\n")
	c.verdict, _, _ = strings.Cut(lines[len(lines)-1], ":")
	if c.verdict == "violation" {
		c.rule = strings.Split(lines[0], ": ")[1]
		c.certificate = len(stamps.FindAllString(lines[0], -1))
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

// whole measures the command on histories that it reads as a whole.
func (j *judging) whole() error {
	j.line("## The whole command, reading included")
	j.line("")
	j.line("`torture check FILE --model M`: %s operations of %d clients that are nearly always busy, 1 %% of them of unknown outcome. A violation is printed only when porcupine confirms its operations.",
		number(checkOperations), checkClients)
	j.line("")
	j.table("history", "verdict", "operations named", "seconds", "memory")
	base := longhistory.Config{Operations: checkOperations, Clients: checkClients, Unknown: 0.01, Seed: 1}
	for _, h := range []struct {
		what, model string
		peeks       float64
		planted     bool
	}{
		{"queue", "queue", 0, false}, {"queue, a value overtakes another", "queue", 0, true}, {"queue, 10 % peeks", "queue", 0.1, false},
		{"lock", "lock", 0, false}, {"lock, two holders at once", "lock", 0, true},
	} {
		cfg := base
		cfg.Model, cfg.Peeks, cfg.Planted = h.model, h.peeks, h.planted
		file, err := j.file("whole.jsonl", func(w io.Writer) error { return longhistory.Write(w, cfg) })
		if err != nil {
			return err
		}
		c, err := j.check(nil, file, "--model", h.model)
		if err != nil {
			return err
		}
		j.row(h.what, strings.TrimSpace(c.verdict+" "+c.rule), c.certificate, fmt.Sprintf("%.2f", c.processor), fmt.Sprintf("%d MB", c.mb))
		want := map[bool]string{false: "ok", true: "violation"}[h.planted]
		j.keep(c.verdict == want && c.certificate <= certificateMax, "%s: %s", h.what, c.output)
		j.keep(h.peeks > 0 || c.processor <= checkSeconds && c.mb <= checkMB, "%s: %.2f s and %d MB, more than %g s and %d MB", h.what, c.processor, c.mb, checkSeconds, checkMB)
	}
	return nil
}

// streams measures the command on histories from a pipe, of which it keeps only what it needs.
func (j *judging) streams() error {
	j.line("## From a pipe, in memory that does not grow")
	j.line("")
	j.line("`torture check - --model M --window %d`, while the history is being made.", longhistory.Window)
	j.line("")
	j.table("history", "operations", "verdict", "seconds", "memory")
	for _, model := range []string{"queue", "lock"} {
		for _, n := range []int{100_000, 1_000_000, 10_000_000} {
			in, out := io.Pipe()
			go func() {
				buffered := bufio.NewWriter(out)
				err := longhistory.Write(buffered, longhistory.Config{Model: model, Operations: n, Clients: checkClients, Seed: 1})
				out.CloseWithError(cmp.Or(err, buffered.Flush()))
			}()
			c, err := j.check(in, "-", "--model", model, "--window", strconv.Itoa(longhistory.Window))
			in.Close()
			if err != nil {
				return err
			}
			j.row(model, number(n), c.verdict, fmt.Sprintf("%.2f", c.processor), fmt.Sprintf("%d MB", c.mb))
			j.keep(c.verdict == "ok" && c.mb <= streamMB, "%s of %d operations, streamed: %d MB, %s", model, n, c.mb, c.output)
		}
	}
	return nil
}

// monitors measures the monitors alone.
func (j *judging) monitors() error {
	j.line("## The monitors alone, on %s operations", number(checkOperations))
	j.line("")
	j.table("history", "processor")
	queues, err := j.benchmarks("QueueMillion", "")
	if err != nil {
		return err
	}
	locks, err := j.benchmarks("BenchmarkLock$/monitor/1000000|BenchmarkPermits", "")
	if err != nil {
		return err
	}
	for _, b := range append(queues, locks...) {
		seconds := b.metrics["cpu-ms/op"]/1e3 + b.metrics["cpu-ns/op"]/1e9
		name := strings.NewReplacer("MonitorQueueMillion/", "queue, ", "Lock/monitor/1000000", "lock, unknown=1%", "Permits/", "").Replace(b.name)
		j.row(name, fmt.Sprintf("%.2f s", seconds))
		if strings.HasSuffix(name, ", unknown=1%") {
			j.keep(seconds <= monitorSeconds, "the monitor of the %s took %.2f s, more than %g s", name, seconds, monitorSeconds)
		}
	}
	return nil
}

// beside measures porcupine alone on the same histories, up to sizes at which it gives up.
func (j *judging) beside() error {
	j.line("## Porcupine beside the monitors")
	j.line("")
	j.line("The same histories given to porcupine alone, in up to 5 s for a queue and 10 s for a lock: where it gives up the monitor is the only one that knows.")
	j.line("")
	j.table("history", "porcupine", "time", "monitor")
	queues, err := j.benchmarks("BenchmarkMonitorQueue$", "1x")
	if err != nil {
		return err
	}
	monitor := map[string]string{}
	for _, b := range queues {
		if size, ok := strings.CutSuffix(b.name, "/monitor"); ok {
			monitor[size] = fmt.Sprintf("%.1f ms", b.metrics["cpu-ms/op"])
		}
	}
	for _, b := range queues {
		if size, ok := strings.CutSuffix(b.name, "/porcupine"); ok {
			j.porcupine(strings.Replace(size, "MonitorQueue/", "queue, ", 1), b.metrics["given-up/op"] == 0, b.metrics["ns/op"], monitor[size])
		}
	}
	locks, err := j.benchmarks("BenchmarkLockByPorcupine", "1x")
	if err != nil {
		return err
	}
	for _, b := range locks {
		j.porcupine(strings.Replace(b.name, "LockByPorcupine/", "lock, ", 1), b.metrics["decided"] == 1, b.metrics["ns/op"], "")
	}
	return nil
}

func (j *judging) porcupine(name string, decided bool, nanoseconds float64, monitor string) {
	j.row(strings.ReplaceAll(name, "_", " "), map[bool]string{true: "decides", false: "gives up"}[decided], time.Duration(nanoseconds).Round(100*time.Microsecond), monitor)
}

// limits measures the hardest history with a budget.
func (j *judging) limits() error {
	j.line("## The history that no search can decide")
	j.line("")
	j.line("A priority queue; n values are offered at once and come out at once, as many polls are of unknown outcome, and what breaks the order comes last. `--timeout 5s --memory 512`:")
	j.line("")
	j.table("n", "verdict", "seconds on the clock", "memory")
	for _, n := range []int{20, 200, 2000, 20_000} {
		file, err := j.file("hard.jsonl", func(w io.Writer) error { return longhistory.WriteHard(w, n) })
		if err != nil {
			return err
		}
		c, err := j.check(nil, file, "--model", "priorityqueue", "--timeout", "5s", "--memory", "512")
		if err != nil {
			return err
		}
		j.row(number(n), c.verdict, fmt.Sprintf("%.1f", c.wall), fmt.Sprintf("%d MB", c.mb))
		j.keep(c.verdict == "violation" && c.wall <= hardSeconds && c.mb <= hardMB, "the hard history of %d: %.1f s, %d MB, %s", n, c.wall, c.mb, c.output)
	}
	return nil
}

// benchmark is a line that go test -bench printed.
type benchmark struct {
	name    string
	metrics map[string]float64 // by unit
}

// benchmarks runs benchmarks of package linearizability on one core.
func (j *judging) benchmarks(pattern, benchtime string) (all []benchmark, err error) {
	args := []string{"test", "./linearizability", "-run", "^$", "-bench", pattern, "-cpu", "1"}
	if benchtime != "" {
		args = append(args, "-benchtime", benchtime)
	}
	out, err := exec.CommandContext(j.ctx, "go", args...).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("the benchmarks %s failed: %s", pattern, out)
	}
	for line := range bytes.Lines(out) {
		if b, ok := parseBenchmark(string(line)); ok {
			all = append(all, b)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no benchmark is called %s", pattern)
	}
	return all, nil
}

// parseBenchmark reads a line of the format that golang.org/design/14313-benchmark-format describes.
func parseBenchmark(line string) (benchmark, bool) {
	fields := strings.Fields(line)
	if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
		return benchmark{}, false
	}
	b := benchmark{strings.TrimPrefix(fields[0], "Benchmark"), map[string]float64{}}
	for i := 2; i+1 < len(fields); i += 2 {
		value, err := strconv.ParseFloat(fields[i], 64)
		if err != nil {
			return benchmark{}, false
		}
		b.metrics[fields[i+1]] = value
	}
	return b, true
}
