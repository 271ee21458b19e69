// Package worker takes tasks of a campaign, has them done by a runner, and answers.
//
// # The model
//
// A worker has some slots. Each takes one task at a time, says that it is at work while a runner's process does it,
// and writes its result into the log of answers before it acknowledges the task. It decides nothing: that a unit
// froze is an answer too, and the coordinator asks again, or gives the unit up. What was cancelled, or whose process
// somebody killed, is no answer: the task is given back. Only when a task was given out [deliveriesMax] times and
// nobody answered, as its workers were killed each time, the answer is that.
package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/zktorture/zktorture/cmd/internal/campaign"
	"github.com/zktorture/zktorture/cmd/internal/campaign/torture-campaign/engine"
	"github.com/zktorture/zktorture/sim/tally"
)

// Runner does tasks. Its methods are called one at a time.
type Runner interface {
	// Unit runs a unit.
	Unit(ctx context.Context, n int) (campaign.UnitResult, error)
	// Conclude concludes a job.
	Conclude(ctx context.Context, job int, part tally.Part) (campaign.JobReport, error)
	Close()
}

// Config is how a worker is.
type Config struct {
	Name   string // by which others know it
	Build  string
	System string
	Slots  int            // tasks at a time
	Plan   *campaign.Plan // as it is recorded
	Runner func() Runner  // makes the runner of a slot

	Patience time.Duration      // for a coordinator that is not there; 0: for ever
	Killed   func(error) bool   // whether a runner's error says that its process was killed: it counts neither way
	Fatal    func(error) bool   // whether it says that this worker can do nothing at all
	Crash    func(error) string // the episode in which the process ended, for torture replay; "": not known
	Say      func(string)       // tells people what happens; nil: nobody
}

// deliveriesMax is how often a task is given out before the workers that took it count as killed by it.
const deliveriesMax = 20

// beatEvery is how often a worker tells how it is.
const beatEvery = 2 * time.Second

// member takes part in a campaign.
type member struct {
	Config
	c   *engine.Campaign
	nc  *nats.Conn
	end context.CancelCauseFunc

	mu      sync.Mutex
	doing   map[int]int // slot: unit
	units   int
	trouble string // see [engine.Beat]
}

// ErrEnded says that the campaign has ended.
var ErrEnded = errors.New("the campaign has ended")

// Plan waits for the campaign that the server has, or for the one that is meant, and returns its recorded plan.
func Plan(ctx context.Context, nc *nats.Conn, id string, say func(string)) ([]byte, error) {
	for said := false; ; said = true {
		c, err := engine.Join(ctx, nc, id)
		if err == nil && c.HasEnded(ctx) {
			return nil, ErrEnded
		}
		var plan []byte
		if err == nil {
			plan, err = c.Plan(ctx)
		}
		switch {
		case err == nil:
			return plan, nil
		case errors.Is(err, engine.ErrRefused):
			return nil, err
		case !said:
			say("Waiting for a campaign.")
		}
		if !pause(ctx, time.Second/2) {
			return nil, context.Cause(ctx)
		}
	}
}

// Refuse tells the coordinator that a worker may not take part, and why.
func Refuse(ctx context.Context, nc *nats.Conn, id string, config Config, why error) error {
	c, err := engine.Join(ctx, nc, id)
	if err != nil {
		return err
	}
	w := &member{Config: config, c: c}
	w.beat(why.Error())
	return nc.FlushTimeout(beatEvery)
}

// Work takes part in a campaign, until it or the context ends.
func Work(ctx context.Context, nc *nats.Conn, id string, config Config) error {
	w := &member{Config: config, nc: nc, doing: map[int]int{}}
	ctx, w.end = context.WithCancelCause(ctx)
	defer w.end(nil)
	if err := w.join(ctx, id); err != nil {
		return err
	}
	if w.c.HasEnded(ctx) {
		return nil
	}
	if err := w.c.Ended(func() { w.end(ErrEnded) }); err != nil {
		return err
	}
	go w.watch(ctx)
	go w.beats(ctx)
	var slots sync.WaitGroup
	for i := range w.Slots {
		slots.Go(func() { w.slot(ctx, i, w.Runner()) })
	}
	slots.Wait()
	_ = w.c.Beat(engine.Beat{Name: w.Name, Gone: true}) // or it is missed
	_ = nc.FlushTimeout(beatEvery)
	if cause := context.Cause(ctx); !errors.Is(cause, ErrEnded) {
		return cause
	}
	return nil
}

// join waits for the campaign.
func (w *member) join(ctx context.Context, id string) (err error) {
	for {
		if w.c, err = engine.Join(ctx, w.nc, id); err == nil || errors.Is(err, engine.ErrRefused) {
			return err
		}
		if !pause(ctx, time.Second/2) {
			return context.Cause(ctx)
		}
	}
}

// watch ends a worker whose coordinator does not come back.
func (w *member) watch(ctx context.Context) {
	var lost time.Time
	for pause(ctx, time.Second) {
		switch {
		case w.nc.IsConnected() && !lost.IsZero():
			lost = time.Time{}
			w.Say("the coordinator is there again")
		case w.nc.IsConnected():
		case w.nc.IsClosed():
			w.end(fmt.Errorf("the connection is closed: %w", w.nc.LastError()))
		case lost.IsZero():
			lost = time.Now()
			w.Say("the coordinator is not there: waiting for it")
		case w.Patience > 0 && time.Since(lost) > w.Patience:
			w.end(fmt.Errorf("the coordinator was not there for %v: start it again, then this worker", w.Patience))
		}
	}
}

func (w *member) beats(ctx context.Context) {
	for {
		w.beat("")
		if !pause(ctx, beatEvery) {
			return
		}
	}
}

func (w *member) beat(refused string) {
	w.mu.Lock()
	b := engine.Beat{
		Name: w.Name, Build: w.Build, System: w.System, Refused: refused,
		Slots: w.Slots, Units: w.units, Trouble: w.trouble,
	}
	for i := range w.Slots {
		if n, ok := w.doing[i]; ok {
			b.Doing = append(b.Doing, n)
		}
	}
	w.mu.Unlock()
	_ = w.c.Beat(b) // the next one comes
}

// slot does one task after the other.
func (w *member) slot(ctx context.Context, i int, r Runner) {
	defer r.Close()
	for ctx.Err() == nil {
		asked, err := w.c.Next(ctx, nextWait)
		if err != nil {
			w.missed(ctx)
		}
		if asked != nil {
			w.do(ctx, i, r, asked)
		}
	}
}

// missed is called when the queue cannot be asked: the server is not there, or the campaign is there no more.
func (w *member) missed(ctx context.Context) {
	if w.nc.IsConnected() && w.c.HasEnded(ctx) {
		w.end(ErrEnded)
	}
	pause(ctx, time.Second/4)
}

// nextWait is how long a slot waits for a task before it asks again.
const nextWait = 5 * time.Second

func (w *member) do(ctx context.Context, i int, r Runner, asked *engine.Asked) {
	if slices.Contains(asked.Not, w.Name) && asked.Deliveries <= othersFirst {
		_ = asked.Return(time.Second) // or it is given out again after a while
		return
	}
	alive, done := context.WithCancel(ctx)
	defer done()
	go asked.Alive(alive)
	if asked.Kind == engine.Unit {
		w.at(i, asked.N)
		defer w.at(i, -1)
	}
	a, err := w.answer(ctx, r, asked)
	if err != nil {
		_ = asked.Return(0) // or it is given out again after a while
		if w.Fatal(err) {
			w.end(err)
		}
		pause(ctx, time.Second/4)
		return
	}
	if !w.send(ctx, a) {
		_ = asked.Return(0)
		return
	}
	_ = asked.Done(ctx) // or it is done again
	w.mu.Lock()
	w.units++
	w.mu.Unlock()
}

// send writes an answer into the log, however long that takes; false: the context has ended.
func (w *member) send(ctx context.Context, a engine.Answer) bool {
	for {
		err := w.c.Answer(ctx, a)
		w.mu.Lock()
		w.trouble = ""
		if w.c.Unwritten(err) {
			w.trouble = err.Error()
		}
		w.mu.Unlock()
		if err == nil {
			return true
		}
		if !pause(ctx, time.Second/4) {
			return false
		}
	}
}

// othersFirst is how often a worker passes a task on that it has failed at.
const othersFirst = 3

func (w *member) at(slot, unit int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if unit < 0 {
		delete(w.doing, slot)
		return
	}
	w.doing[slot] = unit
}

// answer does a task. The error is for what is no answer.
func (w *member) answer(ctx context.Context, r Runner, asked *engine.Asked) (engine.Answer, error) {
	a := engine.Answer{Kind: asked.Kind, N: asked.N, Try: asked.Try, Plan: w.Plan.Digest(), Worker: w.Name}
	if asked.Deliveries > deliveriesMax {
		a.Last = true
		a.Failed = fmt.Sprintf("it was given to a worker %d times, and each time the worker was killed before it answered", deliveriesMax)
		return a, nil
	}
	var err error
	if asked.Kind == engine.Unit {
		var u campaign.UnitResult
		u, err = r.Unit(ctx, asked.N)
		u.Worker = w.Name
		a.Unit = &u
	} else {
		var j campaign.JobReport
		j, err = r.Conclude(ctx, asked.N, *asked.Part)
		a.Job = &j
	}
	switch {
	case ctx.Err() != nil:
		return a, ctx.Err()
	case err != nil && (w.Killed(err) || w.Fatal(err)):
		return a, err
	case err != nil:
		a.Unit, a.Job, a.Failed, a.Crash = nil, nil, err.Error(), w.Crash(err)
	}
	return a, nil
}

// pause waits; false: the context has ended.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
