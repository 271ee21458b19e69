package campaign

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/zktorture/zktorture/internal/version"
)

// beat is what a worker says of itself every few seconds.
type beat struct {
	Name  string    `json:"name"`
	Slots int       `json:"slots"` // units that it runs at a time
	Units int64     `json:"units"` // that it has done
	Heard time.Time `json:"heard"` // when the coordinator has heard it last
}

// The times of workers.
const (
	beatEvery      = 2 * time.Second
	workerPatience = time.Hour // that a worker waits for a server that is away
)

// errEnded is the error of a campaign that has ended.
var errEnded = errors.New("the campaign has ended")

// worker runs units for a campaign.
type worker struct {
	q     *queue
	plan  *Plan
	units atomic.Int64 // that it has done
}

// join takes part in a campaign that is there, and whose plan this program can run.
func join(ctx context.Context, nc *nats.Conn, id string) (*queue, *Plan, error) {
	js, err := jetstream.New(nc)
	q, plan := &queue{id: id, nc: nc, js: js}, &Plan{}
	if err == nil {
		q.tasks, err = js.Consumer(ctx, prefix+id, "workers")
	}
	if err == nil {
		q.results, err = js.KeyValue(ctx, prefix+id)
	}
	if err == nil {
		q.files, err = js.ObjectStore(ctx, prefix+id)
	}
	if err == nil {
		var there bool
		if there, err = q.load(ctx, planFile, plan); !there && err == nil {
			err = errors.New("it has no plan yet")
		}
	}
	if err != nil {
		return nil, nil, fmt.Errorf("campaign %q: %w", id, err)
	}
	if sum := version.Sum(); plan.Program != sum {
		return nil, nil, fmt.Errorf("%w: this program has the SHA-256 %.12s, and the campaign was begun by one with %.12s: "+
			"results of two programs do not add up; take a copy of that program, or begin another campaign", errRefused, sum, plan.Program)
	}
	return q, plan, plan.ready()
}

// work runs so many units at a time until the campaign has ended ([errEnded]), or the context.
func work(ctx context.Context, q *queue, plan *Plan, slots int) error {
	w := &worker{q: q, plan: plan}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all sync.WaitGroup
	for range slots {
		all.Go(func() { w.slot(ctx) })
	}
	cancel(w.beats(ctx, slots))
	all.Wait()
	return context.Cause(ctx)
}

// beats says every few seconds what the worker does. It returns why the worker is to end.
func (w *worker) beats(ctx context.Context, slots int) error {
	host, _ := os.Hostname() // it is only for people
	heard := time.Now()
	for {
		text, _ := json.Marshal(beat{Name: fmt.Sprintf("%s-%d", host, os.Getpid()), Slots: slots, Units: w.units.Load()}) // it can be written
		_ = w.q.nc.Publish(w.q.subject("beat"), text)                                                                     // the next one may arrive
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
	u, ok := w.plan.Unit(n)
	if err != nil || !ok {
		return m.Term()
	}
	alive, done := context.WithCancel(ctx)
	defer done()
	go func() {
		for pause(alive, w.q.tasks.CachedInfo().Config.AckWait/3) {
			_ = m.InProgress() // or another one gets the unit, too
		}
	}()
	r, err := c.unit(ctx, u)
	if err == nil {
		err = w.q.put(ctx, w.plan, r)
	}
	if err != nil {
		return err
	}
	w.units.Add(1)
	_ = m.DoubleAck(ctx) // or it is done twice, and compared
	return nil
}
