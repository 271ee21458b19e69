package coordinator

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/zktorture/zktorture/cmd/internal/campaign"
	"github.com/zktorture/zktorture/cmd/internal/campaign/torture-campaign/engine"
	"github.com/zktorture/zktorture/internal/digest"
	"github.com/zktorture/zktorture/sim"
)

// books are what the coordinator knows of a campaign. They change by answers and by time alone, and do no input or
// output.
type books struct {
	plan *campaign.Plan
	jobs []campaign.Job
	sum  *campaign.Sum

	noted

	open  map[task]bool // tasks that are asked for, and not answered
	again map[int]bool  // units that are to be asked for again
	rate  rate

	changed map[int]bool // jobs whose parts have changed since they were written
}

// noted is what is on the disk beside the sum.
type noted struct {
	Seq     uint64        `json:"seq"`      // answers of the log up to this place are counted
	LogMade time.Time     `json:"log_made"` // of this log
	Began   time.Time     `json:"began"`
	Elapsed time.Duration `json:"elapsed"` // while a coordinator ran
	Last    time.Time     `json:"last"`    // answer
	Asked   int           `json:"asked"`   // units below this were asked for
	TimeUp  bool          `json:"time_up"` // no more are asked for

	JobDone []int           `json:"job_done"` // units of each job
	JobTook []time.Duration `json:"job_took"` // by all of them together

	Tries    map[string]tries      `json:"tries"` // of tasks that gave nothing
	Reports  []*campaign.JobReport `json:"-"`     // of jobs that are concluded
	Previews map[int]preview       `json:"-"`     // of jobs that broke a property
}

// tries are the tries of a task that gave nothing.
type tries struct {
	Next   int      `json:"next"` // the number of the next try
	Failed []failed `json:"failed,omitempty"`
}

type failed struct {
	Worker string `json:"worker"`
	Why    string `json:"why"`
}

// task names a task.
type task struct {
	kind engine.Kind
	n    int
}

func (t task) String() string { return fmt.Sprint(t.kind, ".", t.n) }

// preview is how a job's failures look before it is concluded.
type preview struct {
	properties int // that it had broken when this was asked for
	report     *campaign.JobReport
}

func newBooks(plan *campaign.Plan) (*books, error) {
	jobs, err := plan.List()
	if err != nil {
		return nil, err
	}
	sum, err := campaign.NewSum(plan)
	if err != nil {
		return nil, err
	}
	return &books{
		plan: plan, jobs: jobs, sum: sum, open: map[task]bool{}, again: map[int]bool{}, changed: map[int]bool{},
		noted: noted{
			Tries: map[string]tries{}, Reports: make([]*campaign.JobReport, len(jobs)), Previews: map[int]preview{},
			JobDone: make([]int, len(jobs)), JobTook: make([]time.Duration, len(jobs)),
		},
	}, nil
}

// resume asks again for what was asked for and is not answered: what is in the queue still is not put there twice.
func (b *books) resume() {
	for n := range b.Asked {
		if !b.unitDone(n) {
			b.again[n] = true
		}
	}
}

// units is how many units the campaign has; 0: it is not known yet.
func (b *books) units() int {
	if b.plan.Units() == 0 && b.TimeUp {
		return b.Asked
	}
	return b.plan.Units()
}

func (b *books) unitDone(n int) bool {
	_, done := b.sum.Done[n]
	_, unknown := b.sum.Unknown[n]
	return done || unknown
}

// settled is how many units are done or given up.
func (b *books) settled() int { return len(b.sum.Done) + len(b.sum.Unknown) }

func (b *books) allUnits() bool {
	return (b.plan.Units() > 0 || b.TimeUp) && b.settled() >= b.units()
}

func (b *books) allJobs() bool {
	return b.allUnits() && !slices.Contains(b.Reports, nil)
}

// pass notes that time has passed.
func (b *books) pass(d time.Duration) {
	b.Elapsed += d
	if limit := time.Duration(b.plan.Duration); limit > 0 && b.Elapsed >= limit {
		b.TimeUp = true
	}
}

// count notes an answer. It says what is wrong with one that does not count.
func (b *books) count(l engine.Logged, now time.Time) error {
	if l.Seq <= b.Seq {
		return nil // it was counted before
	}
	b.Seq = l.Seq
	t := task{l.Kind, l.N}
	tried := b.Tries[t.String()]
	switch {
	case !b.has(t):
		return fmt.Errorf("an answer of %.100q: the campaign has no such task", t)
	case errors.Is(l.None, engine.ErrUnreadable):
		if l.Try >= tried.Next {
			b.retry(t, l.Try, &failed{Why: l.None.Error()})
			b.giveUp(t, false)
		}
		return fmt.Errorf("an answer of %s does not count: %w", t, l.None)
	case l.None != nil:
		b.retry(t, l.Try, nil)
		return nil
	case l.Plan != b.plan.Digest():
		b.retry(t, l.Try, nil)
		return fmt.Errorf("%s of worker %s is of another plan: it does not count", t, l.Worker)
	case l.Failed != "" && l.Try < tried.Next:
		return nil // another try is on its way, or it is given up
	case l.Failed != "":
		b.retry(t, l.Try, &failed{l.Worker, l.Failed})
		b.giveUp(t, l.Last)
		return nil
	}
	b.Last = now
	return b.take(t, l, now)
}

// has reports whether the campaign has a task.
func (b *books) has(t task) bool {
	switch t.kind {
	case engine.Unit:
		_, has := b.plan.Unit(t.n)
		return has
	case engine.Conclude, engine.Preview:
		return t.n >= 0 && t.n < len(b.jobs)
	}
	return false
}

// retry lets a task be asked for once more.
func (b *books) retry(t task, try int, why *failed) {
	tried := b.Tries[t.String()]
	if try < tried.Next {
		return
	}
	tried.Next = try + 1
	if why != nil {
		tried.Failed = append(tried.Failed, *why)
	}
	b.Tries[t.String()] = tried
	delete(b.open, t)
	if t.kind == engine.Unit && !b.unitDone(t.n) {
		b.again[t.n] = true
	}
}

// giveUp gives up a task that was tried often enough.
func (b *books) giveUp(t task, last bool) {
	f := b.Tries[t.String()].Failed
	if len(f) < b.plan.UnitTries() && !last {
		return
	}
	why := f[len(f)-1].Why
	switch {
	case t.kind == engine.Unit && !b.unitDone(t.n):
		b.sum.Unknown[t.n] = why
		delete(b.again, t.n)
	case t.kind == engine.Conclude && b.Reports[t.n] == nil:
		b.Reports[t.n] = b.unconcluded(t.n, why)
	case t.kind == engine.Preview:
		b.Previews[t.n] = preview{properties: len(b.sum.Part(t.n).Found)}
	}
}

// take takes what came of a task.
func (b *books) take(t task, l engine.Logged, now time.Time) error {
	switch {
	case l.Unit != nil && t.kind == engine.Unit:
		if l.Unit.Unit.Number != t.n {
			return fmt.Errorf("%s has the result of unit %d: it does not count", t, l.Unit.Unit.Number)
		}
		_, known := b.sum.Done[t.n]
		err := b.checkProgram(l.Unit.Program)
		if err == nil {
			err = b.sum.Add(*l.Unit)
		}
		if err != nil {
			b.retry(t, l.Try, nil)
			return fmt.Errorf("%s of worker %s does not count: %w", t, l.Worker, err)
		}
		if !known {
			b.noteUnit(l.Unit, now)
		}
	case l.Job != nil && t.kind == engine.Conclude:
		if b.Reports[t.n] == nil {
			b.Reports[t.n] = l.Job
		}
	case l.Job != nil && t.kind == engine.Preview:
		b.Previews[t.n] = preview{b.Previews[t.n].properties, l.Job}
		b.retry(t, l.Try, nil) // the next one has another number
	}
	delete(b.open, t)
	if t.kind == engine.Unit {
		delete(b.again, t.n)
	}
	return nil
}

// noteUnit notes what the sum does not: how long it took, and which job has changed.
func (b *books) noteUnit(u *campaign.UnitResult, now time.Time) {
	if u.Part == nil {
		return
	}
	b.rate.add(u.Part.Episodes, now)
	b.changed[u.Unit.Job] = true
	b.JobDone[u.Unit.Job]++
	b.JobTook[u.Unit.Job] += time.Duration(u.Took)
}

// checkProgram refuses results of programs that were not noted when the campaign began.
func (b *books) checkProgram(sum string) error {
	is := func(p campaign.Program) bool { return p.SHA256 == sum }
	if len(b.plan.Programs) > 0 && !slices.ContainsFunc(b.plan.Programs, is) {
		return fmt.Errorf("it was made by a program that the plan does not name (SHA-256 %.12q)", sum)
	}
	return nil
}

// unconcluded is the report of a job that could not be concluded.
func (b *books) unconcluded(job int, why string) *campaign.JobReport {
	p := b.sum.Part(job)
	return &campaign.JobReport{
		Job:    b.jobs[job],
		Result: sim.Result{Counts: p.Counts, Verdict: sim.VerdictUnknown, Reason: "it could not be concluded: " + why},
		Hash:   digest.Hex(p.Hash),
	}
}

// wanted lists tasks that are to be asked for now, so that at most window of them are open.
func (b *books) wanted(window int) []engine.Task {
	if b.allUnits() {
		return b.conclusions(window)
	}
	var list []engine.Task
	for _, n := range slices.Sorted(maps.Keys(b.again)) {
		delete(b.again, n)
		list = append(list, b.ask(task{engine.Unit, n}))
	}
	if len(b.open) < window && !b.TimeUp && (b.plan.Units() == 0 || b.Asked < b.plan.Units()) {
		list = append(list, b.previews()...)
	}
	for len(b.open) < window && !b.TimeUp {
		if _, more := b.plan.Unit(b.Asked); !more {
			break
		}
		if !b.unitDone(b.Asked) {
			list = append(list, b.ask(task{engine.Unit, b.Asked}))
		}
		b.Asked++
	}
	return list
}

func (b *books) conclusions(window int) (list []engine.Task) {
	for job, done := range b.Reports {
		t := task{engine.Conclude, job}
		if done != nil || b.open[t] || len(b.open) >= window {
			continue
		}
		list = append(list, b.askWith(t))
	}
	return list
}

// previews lists jobs that broke a property which has not been told yet.
func (b *books) previews() (list []engine.Task) {
	for job := range b.jobs {
		t, n := task{engine.Preview, job}, len(b.sum.Parts[job].Found)
		if n > b.Previews[job].properties && !b.open[t] {
			b.Previews[job] = preview{n, b.Previews[job].report}
			list = append(list, b.askWith(t))
		}
	}
	return list
}

// unanswered are the units and conclusions that are asked for.
func (b *books) unanswered() (list []engine.Task) {
	for _, t := range slices.SortedFunc(maps.Keys(b.open), func(s, t task) int { return cmp.Compare(s.n, t.n) }) {
		switch t.kind {
		case engine.Unit:
			list = append(list, b.ask(t))
		case engine.Conclude:
			list = append(list, b.askWith(t))
		}
	}
	return list
}

func (b *books) ask(t task) engine.Task {
	b.open[t] = true
	tried := b.Tries[t.String()]
	q := engine.Task{Kind: t.kind, N: t.n, Try: tried.Next}
	for _, f := range tried.Failed {
		q.Not = append(q.Not, f.Worker)
	}
	return q
}

func (b *books) askWith(t task) engine.Task {
	q := b.ask(t)
	part := b.sum.Part(t.n)
	q.Part = &part
	return q
}
