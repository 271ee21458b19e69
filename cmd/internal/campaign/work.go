package campaign

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/zktorture/zktorture/internal/version"
)

// beat is what a worker says of itself every few seconds.
type beat struct {
	Name  string    `json:"name"`
	Slots int       `json:"slots"` // units that it runs at a time
	Units int       `json:"units"` // that it has done
	Doing []int     `json:"doing"` // units
	Heard time.Time `json:"heard"` // when the coordinator has heard it last
}

// The times of workers.
const (
	beatEvery      = 2 * time.Second
	workerPatience = time.Hour // that a worker waits for a server that is away
	deliveriesMax  = 100       // after so many a unit is given up: its workers end without an answer
)

// errEnded is the error of a campaign that has ended.
var errEnded = errors.New("the campaign has ended")

// worker runs units for a campaign.
type worker struct {
	q    *queue
	plan *Plan

	mu  sync.Mutex // of what it says of itself
	now beat
}

// planOf is the plan of a campaign, which this program can run.
func planOf(ctx context.Context, q *queue) (*Plan, error) {
	plan := &Plan{}
	there, err := q.load(ctx, planFile, plan)
	switch {
	case err != nil:
		return nil, err
	case !there:
		return nil, errNone
	}
	if err := plan.ready(); err != nil {
		return nil, err
	}
	if sum := version.Sum(); plan.Program != sum {
		return nil, fmt.Errorf("%w: this program has the SHA-256 %.12s, and the campaign was begun by one with %.12s: "+
			"results of two programs do not add up; take a copy of that program, or begin another campaign", errRefused, sum, plan.Program)
	}
	return plan, nil
}

// work runs so many units at a time until the campaign has ended ([errEnded]), or the context.
func work(ctx context.Context, q *queue, plan *Plan, slots int) error {
	host, _ := os.Hostname() // it is only for people
	w := &worker{q: q, plan: plan, now: beat{Name: fmt.Sprintf("%s-%d", host, os.Getpid()), Slots: slots, Doing: []int{}}}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all sync.WaitGroup
	for range slots {
		all.Go(func() { w.slot(ctx) })
	}
	cancel(w.beats(ctx))
	all.Wait()
	return context.Cause(ctx)
}

// beats says every few seconds what the worker does. It returns why the worker is to end.
func (w *worker) beats(ctx context.Context) error {
	heard := time.Now()
	for {
		w.mu.Lock()
		text, _ := json.Marshal(w.now) // it can be written
		w.mu.Unlock()
		_ = w.q.nc.Publish(w.q.subject("beat"), text) // the next one may arrive
		_, err := w.q.files.GetInfo(ctx, reportFile)
		switch {
		case err == nil:
			return errEnded
		case errors.Is(err, jetstream.ErrObjectNotFound):
			heard = time.Now()
		case errors.Is(err, jetstream.ErrStreamNotFound), time.Since(heard) > workerPatience:
			return fmt.Errorf("the campaign is not there any more: %w", err)
		}
		if !pause(ctx, beatEvery) {
			return context.Cause(ctx)
		}
	}
}

// slot runs units, one after the other.
func (w *worker) slot(ctx context.Context) {
	c := newChildren(w.plan)
	defer c.end()
	for ctx.Err() == nil {
		m, err := w.q.tasks.Next(jetstream.FetchMaxWait(time.Second))
		if err != nil { // none, or no server: both pass
			if !errors.Is(err, nats.ErrTimeout) {
				pause(ctx, time.Second/4)
			}
			continue
		}
		if err := w.task(ctx, c, m); err != nil {
			_ = m.Nak() // another one gets it sooner
		}
	}
}

// task runs the unit of a message. The error is that of a context that ended, or of a message that says nothing.
func (w *worker) task(ctx context.Context, c *children, m jetstream.Msg) error {
	n, err := unitOf(m.Subject())
	if err != nil {
		return m.Term()
	}
	u, ok := w.plan.Unit(n)
	meta, err := m.Metadata()
	if !ok || err != nil {
		return m.Term()
	}
	w.doing(n, true)
	defer w.doing(n, false)
	alive, done := context.WithCancel(ctx)
	defer done()
	go func() {
		for pause(alive, w.ackWait()/3) {
			_ = m.InProgress() // or another one gets the unit, too
		}
	}()
	r := w.plan.unknown(u, fmt.Sprintf("it was begun %d times, and each time its worker ended without an answer", meta.NumDelivered-1))
	if meta.NumDelivered <= deliveriesMax {
		if r, err = c.unit(ctx, u); err != nil {
			return err
		}
	}
	r.Worker = w.now.Name
	if err := w.q.put(ctx, w.plan, r); err != nil {
		return err
	}
	_ = m.DoubleAck(ctx) // or it is done twice, and compared
	return nil
}

// ackWait is how long the worker may be silent about a unit.
func (w *worker) ackWait() time.Duration { return w.q.tasks.CachedInfo().Config.AckWait }

// doing notes that a unit is begun, or done.
func (w *worker) doing(unit int, begun bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if begun {
		w.now.Doing = append(w.now.Doing, unit)
		return
	}
	doing := []int{}
	for _, n := range w.now.Doing {
		if n != unit {
			doing = append(doing, n)
		}
	}
	w.now.Doing, w.now.Units = doing, w.now.Units+1
}
