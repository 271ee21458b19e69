package runner

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/zktorture/zktorture/cmd/internal/campaign"
	"github.com/zktorture/zktorture/cmd/internal/campaign/units"
	"github.com/zktorture/zktorture/live/ensemble/scratch"
	"github.com/zktorture/zktorture/sim/tally"
)

// Config is what a [Runner] needs.
type Config struct {
	Plan     *campaign.Plan // as it was recorded when the campaign began
	File     string         // that has it, for the children
	Programs []Program      // for each version of Go that its jobs want
}

// Runner answers questions about a plan by child processes. Its methods may be called at the same time; questions are
// asked one after the other.
type Runner struct {
	cfg   Config
	turn  chan struct{} // has an element while a question is asked
	life  context.Context
	close context.CancelFunc

	children map[variant]*child // of whoever has the turn
	builds   map[variant]string // that children have said
	scratch  *scratch.Folder    // for their temporary files
	clock    clock
}

// variant is what children differ by.
type variant struct {
	version string // of Go
	exact   bool
}

// clock is how a runner measures time.
type clock struct {
	now   func() time.Time
	after func(time.Duration) (fires <-chan time.Time, stop func() bool)
}

func newTimer(d time.Duration) (<-chan time.Time, func() bool) {
	t := time.NewTimer(d)
	return t.C, t.Stop
}

// New returns a runner. It starts no process yet.
func New(cfg Config) *Runner {
	r := &Runner{cfg: cfg, turn: make(chan struct{}, 1), children: map[variant]*child{}, builds: map[variant]string{},
		clock: clock{now: time.Now, after: newTimer}}
	for _, p := range cfg.Programs {
		r.builds[variant{p.Go, false}] = p.Build
	}
	r.life, r.close = context.WithCancel(context.Background())
	return r
}

// errClosed is the cause of errors after [Runner.Close].
var errClosed = errors.New("the runner is closed")

// Close ends all children and what they have started, and waits for that. Questions that are asked end with [Killed].
func (r *Runner) Close() {
	r.close()
	r.turn <- struct{}{}
	defer func() { <-r.turn }()
	var all sync.WaitGroup
	for v, c := range r.children {
		all.Go(c.kill)
		delete(r.children, v)
	}
	all.Wait()
	if r.scratch != nil {
		r.scratch.Remove()
		r.scratch = nil
	}
}

// folder is a new folder for the temporary files of a child, "" if there can be none: removing it after the death of
// this process takes a shell.
func (r *Runner) folder() string {
	if r.scratch == nil {
		r.scratch, _ = scratch.New("", "zktorture-units-")
	}
	if r.scratch == nil {
		return ""
	}
	dir, _ := os.MkdirTemp(r.scratch.Path(), "")
	return dir
}

// Unit runs a unit. The result has what [campaign.Done] says of the program and the time; the worker's name is the
// caller's to add. The error has a [Class].
func (r *Runner) Unit(ctx context.Context, n int) (campaign.UnitResult, error) {
	subject := fmt.Sprintf("unit %d", n)
	unit, ok := r.cfg.Plan.Unit(n)
	if !ok {
		return campaign.UnitResult{}, &failure{Class: Failed, Subject: subject, Text: "the plan has no such unit"}
	}
	version, exact := r.cfg.Plan.Needs(unit)
	began := r.clock.now()
	var result campaign.UnitResult
	err := r.ask(ctx, variant{version, exact}, subject, units.Question{Unit: &n}, func(answer []byte) error {
		return r.read(answer, unit, &result)
	})
	if err == nil {
		result.Took = campaign.Duration(r.clock.now().Sub(began))
	}
	return result, err
}

// read reads the answer that gives the result of a unit.
func (r *Runner) read(answer []byte, unit campaign.Unit, result *campaign.UnitResult) error {
	err := json.Unmarshal(answer, result)
	switch {
	case err != nil:
		return err
	case result.Format != campaign.UnitFormat:
		return fmt.Errorf("its format is %q, and %q is wanted", result.Format, campaign.UnitFormat)
	case result.Plan != r.cfg.Plan.Digest():
		return fmt.Errorf("it is of another plan (%.12q, and this is %.12q)", result.Plan, r.cfg.Plan.Digest())
	case result.Unit != unit:
		return fmt.Errorf("it is of another unit: %+v", result.Unit)
	case result.Unknown != "":
		reason, stacks, _ := strings.Cut(result.Unknown, "\n")
		return &failure{Class: Frozen, Text: reason, Detail: stacks}
	case result.Part == nil && result.Again == nil:
		return errors.New("it has no result")
	}
	return nil
}

// Conclude says what came of a job of the plan, from the sum of its parts: see [campaign.Plan.Conclude]. It may take
// as long as a unit. The error has a [Class].
func (r *Runner) Conclude(ctx context.Context, job int, part tally.Part) (campaign.JobReport, error) {
	subject := fmt.Sprintf("the conclusion of job %d", job)
	jobs, err := r.cfg.Plan.List()
	if err == nil && (job < 0 || job >= len(jobs)) {
		err = fmt.Errorf("the plan has %d jobs", len(jobs))
	}
	if err != nil {
		return campaign.JobReport{}, &failure{Class: Failed, Subject: subject, Cause: err}
	}
	var report campaign.JobReport
	v := variant{jobs[job].Go, jobs[job].Exact}
	err = r.ask(ctx, v, subject, units.Question{Conclude: &job, Part: &part}, func(answer []byte) error {
		if err := json.Unmarshal(answer, &report); err != nil {
			return err
		}
		if report.Job != jobs[job] {
			return fmt.Errorf("it is of another job: %+v", report.Job)
		}
		return nil
	})
	return report, err
}

// ask has the child of a variant answer a question. The child does not outlive an error.
func (r *Runner) ask(ctx context.Context, v variant, subject string, q units.Question, read func([]byte) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(r.life, func() { cancel(errClosed) })()
	err := r.taking(ctx, func() error { return r.askChild(ctx, v, q, read) })
	if err == nil {
		return nil
	}
	f := (*failure)(nil)
	if !errors.As(err, &f) {
		f = &failure{Class: Failed, Cause: err}
	}
	f.Subject = subject
	return f
}

// taking calls f when it is the caller's turn.
func (r *Runner) taking(ctx context.Context, f func() error) error {
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-ctx.Done():
	}
	switch {
	case r.life.Err() != nil: // of which ctx may not know yet
		return &failure{Class: Killed, Cause: errClosed}
	case ctx.Err() != nil:
		return &failure{Class: Killed, Cause: context.Cause(ctx)}
	}
	return f()
}

func (r *Runner) askChild(ctx context.Context, v variant, q units.Question, read func([]byte) error) error {
	c, err := r.childOf(ctx, v)
	if err != nil {
		return err
	}
	answer, err := c.ask(ctx, q, r.cfg.Plan.UnitLimit())
	if err == nil {
		err = c.understood(answer, read)
	}
	if f := (*failure)(nil); errors.As(err, &f) {
		c.process.kill()
		c.crash(f)
	}
	if err != nil || c.spent() {
		delete(r.children, v)
		c.kill()
	}
	return err
}

// childOf returns the child of a variant. It starts one if there is none, or if that has ended or has said something
// that it was not asked for: that must not be taken for an answer.
func (r *Runner) childOf(ctx context.Context, v variant) (*child, error) {
	if c := r.children[v]; c != nil && c.waits() {
		return c, nil
	} else if c != nil {
		delete(r.children, v)
		c.kill()
	}
	p, err := r.program(v)
	if err != nil {
		return nil, err
	}
	c, err := r.start(ctx, p, v.exact)
	if err != nil {
		return nil, err
	}
	if before := cmp.Or(r.builds[v], c.ready.Build); before != c.ready.Build {
		c.kill()
		text := fmt.Sprintf("%s has changed: it was %s, and is %s", p.Path, before, c.ready.Build)
		return nil, &failure{Class: NoProgram, Text: text}
	}
	r.builds[v], r.children[v] = c.ready.Build, c
	return c, nil
}

// program is that which runs units of a variant.
func (r *Runner) program(v variant) (Program, error) {
	for _, p := range r.cfg.Programs {
		if p.Go == v.version {
			return p, nil
		}
	}
	return Program{}, &failure{Class: NoProgram, Text: fmt.Sprintf("there is no program for Go %q", v.version)}
}
