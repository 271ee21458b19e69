package campaign

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/zktorture/zktorture/internal/wholefile"
)

// Status is how far a campaign is. Times are those of the coordinator's clock.
type Status struct {
	Name      string     `json:"name"`
	State     State      `json:"state"`
	Began     time.Time  `json:"began"`
	Now       time.Time  `json:"now"` // when this was so
	Took      Duration   `json:"took"`
	Units     int        `json:"units"` // 0: as many as there is time for
	Done      int        `json:"done"`
	Unknown   int        `json:"unknown"` // units that gave no result
	Twice     int        `json:"twice"`   // units that were done again, and compared
	Unequal   []int      `json:"unequal,omitempty"`
	Episodes  int        `json:"episodes"`
	Concluded int        `json:"concluded"` // jobs
	Jobs      []Progress `json:"jobs"`
	Workers   []beat     `json:"workers"`
	Problem   string     `json:"problem,omitempty"` // of the coordinator
}

// State is what a campaign does.
type State string

// The states of a campaign.
const (
	Running    State = "running"
	Concluding State = "concluding" // what was found is minimised and explained
	Ended      State = "ended"
)

// Progress is how far a job is.
type Progress struct {
	Job      Job            `json:"job"`
	Episodes int            `json:"episodes"`
	Found    map[string]int `json:"found,omitempty"` // how often each property broke
}

// leader leads a campaign: it asks for units, counts what comes, and reports.
type leader struct {
	dir    folder
	access access    // to the server
	server *embedded // nil: it is another process's
	id     string    // of the campaign
	known  []Known   // failures of earlier nights
	slots  int       // of this process, which concludes jobs
	say    func(string)
	opened func() // called once workers may join

	q      *queue
	mu     sync.Mutex // of what follows
	plan   *Plan      // as it is recorded, once it is
	sum    *Sum
	status Status
}

// The times of a coordinator.
const (
	writeEvery = 2 * time.Second
	silenceMax = time.Minute // after which a worker counts as gone
)

// askEvery is after which time a unit that did not come is asked for again: a server may have lost it.
var askEvery = 30 * time.Second

// lead leads the campaign to its end, and returns the report. It begins its session anew, from what is stored, after
// every error that time can heal: a full disk, a server that is away.
func (l *leader) lead(ctx context.Context) (*Report, error) {
	for {
		report, err := l.session(ctx)
		switch {
		case err == nil:
			return report, nil
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case errors.Is(err, errRefused), l.server != nil && l.opened != nil && !full(err): // it has never been well
			return nil, err
		}
		l.problem(err)
		if !pause(ctx, time.Second) {
			return nil, context.Cause(ctx)
		}
	}
}

// full reports whether an error is that of a disk without space.
func full(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// problem tells people of an error, once, or that it has passed.
func (l *leader) problem(err error) {
	text := "It goes on."
	l.mu.Lock()
	before := l.status.Problem
	switch {
	case full(err):
		l.status.Problem = "the disk is full: the campaign waits until there is space"
	case err != nil:
		l.status.Problem = err.Error()
	default:
		l.status.Problem = ""
	}
	now := l.status.Problem
	l.mu.Unlock()
	if now != "" {
		text = "The coordinator has a problem: " + now
	}
	if now != before {
		l.say(text)
	}
}

// session leads the campaign from what is stored to its end, or to an error.
func (l *leader) session(parent context.Context) (*Report, error) {
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	if l.server != nil {
		if err := l.server.start(); err != nil {
			return nil, err
		}
	}
	to := l.access
	to.lost = func(why string) { cancel(fmt.Errorf("the connection to the server was lost: %s", why)) }
	nc, err := to.dial(ctx, 0)
	if err != nil {
		return nil, err
	}
	defer nc.Close()
	if l.q, err = openQueue(ctx, nc, l.id); err != nil {
		return nil, err
	}
	if err := l.resume(ctx); err != nil {
		return nil, err
	}
	report := &Report{}
	if there, err := l.q.load(ctx, reportFile, report); there || err != nil {
		return report, err
	}
	l.problem(nil)
	if err := l.count(ctx); err != nil {
		return nil, errors.Join(context.Cause(ctx), err)
	}
	if report, err = l.conclude(ctx); err != nil {
		return nil, errors.Join(context.Cause(ctx), err)
	}
	return report, l.q.store(ctx, reportFile, report)
}

// resume takes the plan and the sum that are stored, or stores the first ones: the plan with the failures of earlier
// nights, and the sum of nothing.
func (l *leader) resume(ctx context.Context) error {
	plan := &Plan{}
	there, err := l.q.load(ctx, planFile, plan)
	switch {
	case err != nil:
		return err
	case there:
		err = plan.ready()
	default:
		if plan, err = l.plan.Record(l.plan.Program, l.known); err == nil {
			err = l.q.store(ctx, planFile, plan)
		}
	}
	if err != nil {
		return err
	}
	var stored json.RawMessage
	sum := NewSum(plan)
	if there, err = l.q.load(ctx, sumFile, &stored); there && err == nil {
		sum, err = plan.ReadSum(stored)
	} else if err == nil {
		err = l.q.store(ctx, sumFile, sum)
	}
	if err != nil {
		return err
	}
	l.mu.Lock()
	l.plan, l.sum, l.status.State = plan, sum, Running
	l.mu.Unlock()
	if l.opened != nil {
		l.opened()
		l.opened = nil
	}
	return l.writeStatus()
}

// writeStatus says to torture campaign status how far the campaign is.
func (l *leader) writeStatus() error {
	text, err := json.Marshal(l.now())
	if err == nil {
		err = wholefile.Write(l.dir.path(statusName), text)
	}
	return err
}

// count asks for units and counts their results until all are done, or the plan's time is over.
func (l *leader) count(ctx context.Context) error {
	watch, err := l.q.results.Watch(ctx, "unit.*", jetstream.IgnoreDeletes())
	if err != nil {
		return err
	}
	defer watch.Stop()
	beats, err := l.q.nc.Subscribe(l.q.subject("beat"), l.heard)
	if err != nil {
		return err
	}
	defer beats.Unsubscribe()
	tick := time.NewTicker(writeEvery)
	defer tick.Stop()
	c := counting{leader: l, asked: map[int]time.Time{}, last: time.Now()}
	for {
		if err := c.ask(ctx); err != nil {
			return err
		}
		if len(c.asked) == 0 {
			return c.write(ctx)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case e, more := <-watch.Updates():
			if !more {
				return errors.New("the results cannot be watched any more")
			}
			if e != nil { // nil: all that was there has come
				c.add(e)
			}
		case <-tick.C:
			if err := c.tick(ctx); err != nil {
				return err
			}
		}
	}
}

// counting is a session in which units are run.
type counting struct {
	*leader
	next    int               // unit to ask for
	ended   bool              // no more units are asked for
	asked   map[int]time.Time // units that are not done, and when they were asked for
	counted []jetstream.KeyValueEntry
	last    time.Time     // of which the sum knows
	pace    time.Duration // how long it takes to store the sum
	wrote   time.Time
}

// ask asks for units as long as fewer are asked for than workers can begin soon, in the order of the plan: so what is
// done when the time is over is its beginning.
func (c *counting) ask(ctx context.Context) error {
	for window := c.window(); !c.ended && len(c.asked) < window; c.next++ {
		u, more := c.plan.Unit(c.next)
		if !more {
			c.ended = true
			return nil
		}
		if _, done := c.sum.Done[u.Number]; done || c.sum.Unknown[u.Number] != "" {
			continue
		}
		if err := c.q.ask(ctx, u.Number); err != nil {
			return err
		}
		c.asked[u.Number] = time.Now()
	}
	return nil
}

// window is how many units are asked for at a time: twice what workers do, and some for those that are not heard yet.
func (c *counting) window() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 8
	for _, w := range c.status.Workers {
		if time.Since(w.Heard) < silenceMax {
			n += 2 * w.Slots
		}
	}
	return n
}

// add counts a result. What is no result of this plan is said, and removed with those that are counted.
func (c *counting) add(e jetstream.KeyValueEntry) {
	c.counted = append(c.counted, e)
	var r UnitResult
	err := unpack(e.Value(), &r)
	if err == nil {
		c.mu.Lock()
		err = c.sum.Add(r)
		c.mu.Unlock()
	}
	if err != nil {
		c.say(fmt.Sprintf("%s is not counted: %v", e.Key(), err))
		return // it is asked for again
	}
	delete(c.asked, r.Unit.Number)
}

// tick does what is to be done every few seconds.
func (c *counting) tick(ctx context.Context) error {
	if l := c.leader; l.server != nil {
		if err := l.server.trouble(); err != nil {
			return err
		}
	}
	now := time.Now()
	c.mu.Lock()
	c.sum.Took += Duration(now.Sub(c.last))
	over := c.plan.Duration > 0 && c.sum.Took >= c.plan.Duration
	c.mu.Unlock()
	c.last, c.ended = now, c.ended || over
	for n, at := range c.asked {
		if now.Sub(at) < askEvery {
			continue
		}
		if err := c.q.ask(ctx, n); err != nil {
			return err
		}
		c.asked[n] = now
	}
	if now.Sub(c.wrote) < 20*c.pace { // a large sum is stored less often
		return nil
	}
	return c.write(ctx)
}

// write stores the sum and the status, and then removes the results that are in the sum.
func (c *counting) write(ctx context.Context) error {
	began := time.Now()
	if err := c.writeStatus(); err != nil {
		return err
	}
	if len(c.counted) == 0 {
		return nil
	}
	if err := c.q.store(ctx, sumFile, c.sum); err != nil {
		return err
	}
	for _, e := range c.counted {
		err := c.q.results.Purge(ctx, e.Key(), jetstream.LastRevision(e.Revision()))
		if api := new(jetstream.APIError); err != nil && !(errors.As(err, &api) && api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence) {
			return err // else a later result is there, which will be compared
		}
	}
	c.counted, c.wrote, c.pace = nil, time.Now(), time.Since(began)
	return nil
}

// conclude concludes all jobs, several at the same time, and makes the report.
func (l *leader) conclude(ctx context.Context) (*Report, error) {
	if err := l.q.stream.Purge(ctx); err != nil { // what is asked for, and done
		return nil, err
	}
	l.set(func(s *Status) { s.State, s.Concluded = Concluding, 0 })
	if err := l.writeStatus(); err != nil {
		return nil, err
	}
	jobs := make([]JobReport, len(l.plan.list))
	todo := make(chan int, len(jobs))
	for i := range jobs {
		todo <- i
	}
	close(todo)
	all, within := errgroup.WithContext(ctx)
	for range max(l.slots, 1) {
		all.Go(func() (err error) {
			c := newChildren(l.plan)
			defer c.end()
			for i := range todo {
				if jobs[i], err = c.conclude(within, i, l.sum.Parts[i]); err != nil {
					return err
				}
				l.set(func(s *Status) { s.Concluded++ })
			}
			return nil
		})
	}
	if err := all.Wait(); err != nil {
		return nil, err
	}
	return l.sum.Report(jobs), nil
}

func (l *leader) set(change func(*Status)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change(&l.status)
}

// heard notes what a worker says of itself.
func (l *leader) heard(m *nats.Msg) {
	var b beat
	if json.Unmarshal(m.Data, &b) != nil {
		return
	}
	b.Heard = time.Now()
	l.set(func(s *Status) {
		i := slices.IndexFunc(s.Workers, func(w beat) bool { return w.Name == b.Name })
		if i < 0 {
			i, s.Workers = len(s.Workers), append(s.Workers, b)
		}
		s.Workers[i] = b
	})
}

// now is how far the campaign is.
func (l *leader) now() Status {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.status
	s.Name, s.Now, s.Units, s.Workers = l.plan.Name, time.Now(), l.plan.Units(), slices.Clone(s.Workers)
	if l.sum == nil {
		return s
	}
	s.Began, s.Done, s.Unknown, s.Twice, s.Unequal, s.Took = l.sum.Began, len(l.sum.Done), len(l.sum.Unknown), l.sum.Twice, slices.Clone(l.sum.Unequal), l.sum.Took
	for i, j := range l.plan.list {
		p := Progress{Job: j, Episodes: l.sum.Parts[i].Episodes, Found: map[string]int{}}
		for _, f := range l.sum.Parts[i].Found {
			p.Found[f.Property] = f.Times
		}
		s.Episodes += p.Episodes
		s.Jobs = append(s.Jobs, p)
	}
	return s
}
