package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/zktorture/zktorture/cmd/internal/campaign"
	"github.com/zktorture/zktorture/sim/tally"
)

// AckWait is how long a worker may not be heard of before its task is given to another.
const AckWait = 15 * time.Second

// Campaign is a campaign in JetStream, for its coordinator and its workers.
type Campaign struct {
	ID string

	nc      *nats.Conn
	js      jetstream.JetStream
	tasks   jetstream.Consumer
	log     jetstream.Stream // of answers
	bodies  jetstream.ObjectStore
	ackWait time.Duration
}

// Kind is what a task is about.
type Kind string

// The kinds of tasks.
const (
	Unit     Kind = "unit"     // run unit N
	Conclude Kind = "conclude" // conclude job N: all its units are done
	Preview  Kind = "preview"  // conclude job N for the live page: some of its units are done
)

// Task is what a worker is to do.
type Task struct {
	Kind Kind        `json:"kind"`
	N    int         `json:"n"`
	Try  int         `json:"try"`            // how often it was asked before
	Part *tally.Part `json:"part,omitempty"` // of a job that is to be concluded
	Not  []string    `json:"not,omitempty"`  // workers that have failed at it: others are to try first
}

// Answer is what came of a task. It has one of Unit, Job and Failed.
type Answer struct {
	Kind   Kind                 `json:"kind"`
	N      int                  `json:"n"`
	Try    int                  `json:"try"`
	Plan   string               `json:"plan"` // the digest of the plan
	Worker string               `json:"worker"`
	Unit   *campaign.UnitResult `json:"unit,omitempty"`
	Job    *campaign.JobReport  `json:"job,omitempty"`
	Failed string               `json:"failed,omitempty"` // why there is nothing
	Last   bool                 `json:"last,omitempty"`   // it is not to be tried again
	Crash  string               `json:"crash,omitempty"`  // for torture replay: the episode in which its process ended
}

// Beat is what a worker says of itself every few seconds.
type Beat struct {
	Name    string `json:"name"`
	Build   string `json:"build"`
	System  string `json:"system"`
	Refused string `json:"refused,omitempty"`
	Slots   int    `json:"slots"` // tasks that it does at a time
	Units   int    `json:"units"` // that it has done
	Doing   []int  `json:"doing"` // units
	Gone    bool   `json:"gone,omitempty"`
	Trouble string `json:"trouble,omitempty"` // why the server does not write its answer: see [Campaign.Unwritten]
}

// ID is the id of the campaign of a plan, by the plan's digest.
func ID(digest string) string { return digest[:min(12, len(digest))] }

const prefix = "torture-"

func (c *Campaign) tasksName() string  { return prefix + "tasks-" + c.ID }
func (c *Campaign) logName() string    { return prefix + "answers-" + c.ID }
func (c *Campaign) bodiesName() string { return bodiesPrefix + c.ID }

const bodiesPrefix = prefix + "bodies-"

func (c *Campaign) subject(parts ...any) string {
	s := "torture." + c.ID
	for _, p := range parts {
		s += fmt.Sprint(".", p)
	}
	return s
}

// Settings are what a coordinator decides.
type Settings struct {
	AckWait  time.Duration // default [AckWait]
	Replicas int           // copies of each message, of a cluster; default 1
}

// Open makes what a campaign needs in JetStream, or takes what is there.
func Open(ctx context.Context, nc *nats.Conn, id string, set Settings) (*Campaign, error) {
	c, err := newCampaign(nc, id)
	if err != nil {
		return nil, err
	}
	c.ackWait = set.AckWait
	if c.ackWait == 0 {
		c.ackWait = AckWait
	}
	replicas := max(set.Replicas, 1)
	tasks, err := c.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name: c.tasksName(), Subjects: []string{c.subject("task", ">")}, Replicas: replicas,
		Retention: jetstream.WorkQueuePolicy, MaxMsgsPerSubject: 1, Discard: jetstream.DiscardNew, DiscardNewPerSubject: true,
	})
	if err != nil {
		return nil, fmt.Errorf("the stream of tasks: %w", err)
	}
	c.tasks, err = tasks.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{
		Durable: "workers", AckPolicy: jetstream.AckExplicitPolicy, AckWait: c.ackWait, MaxAckPending: 100_000,
		MaxDeliver: -1,
	})
	if err != nil {
		return nil, fmt.Errorf("the stream of tasks: %w", err)
	}
	c.log, err = c.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name: c.logName(), Subjects: []string{c.subject("answer", ">")}, Replicas: replicas,
	})
	if err != nil {
		return nil, fmt.Errorf("the stream of answers: %w", err)
	}
	bodies := jetstream.ObjectStoreConfig{Bucket: c.bodiesName(), Replicas: replicas}
	c.bodies, err = c.js.CreateOrUpdateObjectStore(ctx, bodies)
	if err != nil {
		return nil, fmt.Errorf("the store of bodies: %w", err)
	}
	return c, nil
}

func newCampaign(nc *nats.Conn, id string) (*Campaign, error) {
	js, err := jetstream.New(nc)
	return &Campaign{ID: id, nc: nc, js: js}, err
}

// ErrNone is the error of a server that has no campaign, or not this one, at the moment.
var ErrNone = errors.New("there is no campaign")

// Join takes part in the campaign that a coordinator has made: the one that the server has, if id is "".
func Join(ctx context.Context, nc *nats.Conn, id string) (*Campaign, error) {
	c, err := newCampaign(nc, id)
	if err != nil {
		return nil, err
	}
	if id == "" {
		if c.ID, err = c.only(ctx); err != nil {
			return nil, err
		}
	}
	if c.bodies, err = c.js.ObjectStore(ctx, c.bodiesName()); errors.Is(err, jetstream.ErrBucketNotFound) {
		return nil, ErrNone
	} else if err != nil {
		return nil, err
	}
	if c.HasEnded(ctx) { // there are no tasks any more
		return c, nil
	}
	if c.tasks, err = c.js.Consumer(ctx, c.tasksName(), "workers"); err != nil {
		return nil, err
	}
	c.ackWait = c.tasks.CachedInfo().Config.AckWait
	return c, nil
}

// only is the id of the campaign that the server has, if it has one.
func (c *Campaign) only(ctx context.Context) (string, error) {
	var ids []string
	names := c.js.ObjectStoreNames(ctx)
	for name := range names.Name() {
		if id, ok := strings.CutPrefix(name, bodiesPrefix); ok {
			ids = append(ids, id)
		}
	}
	switch {
	case names.Error() != nil:
		return "", names.Error()
	case len(ids) == 0:
		return "", ErrNone
	case len(ids) > 1:
		return "", fmt.Errorf("%w: there are several campaigns: append one of /%s to the address", ErrRefused,
			strings.Join(ids, ", /"))
	}
	return ids[0], nil
}

// Objects that are no bodies of messages.
const (
	planObject   = "plan"
	reportObject = "report"
)

// SetPlan records the plan for the workers.
func (c *Campaign) SetPlan(ctx context.Context, plan []byte) error {
	return c.setObject(ctx, planObject, plan)
}

// Plan is the recorded plan.
func (c *Campaign) Plan(ctx context.Context) ([]byte, error) { return c.object(ctx, planObject) }

// End says that the campaign has ended, to the workers that are there and to those that will come.
func (c *Campaign) End(ctx context.Context, report []byte) error {
	if err := c.setObject(ctx, reportObject, report); err != nil {
		return err
	}
	for _, s := range []string{c.tasksName(), c.logName()} {
		if err := c.js.DeleteStream(ctx, s); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
			return err
		}
	}
	return c.nc.Publish(c.subject("end"), nil)
}

// Report is the report of a campaign that has ended; else [ErrNone].
func (c *Campaign) Report(ctx context.Context) ([]byte, error) { return c.object(ctx, reportObject) }

func (c *Campaign) setObject(ctx context.Context, name string, data []byte) error {
	ctx, cancel := context.WithTimeout(ctx, bodyLimit)
	defer cancel()
	_, err := c.bodies.PutBytes(ctx, name, data)
	return err
}

// object is the start of an object, bodySize bytes at most: what is longer cannot be read.
func (c *Campaign) object(ctx context.Context, name string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, bodyLimit)
	defer cancel()
	object, err := c.bodies.Get(ctx, name)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		return nil, ErrNone
	} else if err != nil {
		return nil, err
	}
	defer object.Close()
	return io.ReadAll(io.LimitReader(object, bodySize))
}

// HasEnded reports whether [Campaign.End] was called.
func (c *Campaign) HasEnded(ctx context.Context) bool {
	_, err := c.bodies.GetInfo(ctx, reportObject)
	return err == nil
}

// Ended calls f once the coordinator says that the campaign has ended.
func (c *Campaign) Ended(f func()) error {
	_, err := c.nc.Subscribe(c.subject("end"), func(*nats.Msg) { f() })
	return err
}

// Ask puts a task into the queue, if this try of it is not there already.
func (c *Campaign) Ask(ctx context.Context, t Task) error {
	m, err := c.message(ctx, c.subject("task", t.Kind, t.N, t.Try), t)
	if err != nil {
		return err
	}
	_, err = c.js.PublishMsg(ctx, m)
	if api := new(jetstream.APIError); errors.As(err, &api) && api.Description == isThere {
		return c.drop(ctx, m.Header)
	}
	return err
}

// isThere is how NATS says that a subject has its message; the error's code stands for failing disks, too.
const isThere = "maximum messages per subject exceeded"

// Asked is a task that a worker has taken.
type Asked struct {
	Task
	Deliveries int // how often it was given to a worker, this time included

	c *Campaign
	m jetstream.Msg
}

// Next takes a task; nil: there is none at the moment. It waits so long for one, and longer for its body.
func (c *Campaign) Next(ctx context.Context, wait time.Duration) (*Asked, error) {
	m, err := c.fetch(ctx, wait)
	for _, none := range []error{context.DeadlineExceeded, nats.ErrTimeout, jetstream.ErrNoMessages} {
		if errors.Is(err, none) {
			return nil, nil
		}
	}
	if err != nil {
		return nil, err
	}
	meta, err := m.Metadata()
	if err != nil {
		return nil, err
	}
	a := &Asked{c: c, m: m, Deliveries: int(meta.NumDelivered)}
	reading, read := context.WithCancel(ctx)
	defer read()
	go a.Alive(reading)
	if err := c.read(ctx, m.Headers(), m.Data(), &a.Task); err != nil {
		if none(err) {
			return nil, m.Term() // somebody has answered it, or put it there who is no coordinator
		}
		return nil, err
	}
	return a, nil
}

func (c *Campaign) fetch(ctx context.Context, wait time.Duration) (jetstream.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	return c.tasks.Next(jetstream.FetchContext(ctx))
}

// Alive says that the worker is at work, again and again until the context ends.
func (a *Asked) Alive(ctx context.Context) {
	for pause(ctx, a.c.ackWait/3) {
		_ = a.m.InProgress() // a connection that is broken is there again the next time, or the task is another's
	}
}

// Return gives the task back, for whoever is next, after a while.
func (a *Asked) Return(after time.Duration) error { return a.m.NakWithDelay(after) }

// Done says that the task is answered. If that is lost, the task is done again.
func (a *Asked) Done(ctx context.Context) error {
	if err := a.m.Ack(); err != nil {
		return err
	}
	return a.c.drop(ctx, a.m.Headers())
}

// Answer writes an answer into the log. It returns when the server has synced it to its disk.
func (c *Campaign) Answer(ctx context.Context, a Answer) error {
	m, err := c.message(ctx, c.subject("answer", a.Kind, a.N, a.Try), a)
	if err != nil {
		return err
	}
	_, err = c.js.PublishMsg(ctx, m)
	return err
}

// Unwritten reports whether the server is there and did not write an answer: it says so, or says nothing. After a full
// disk NATS does the latter until it is started again.
func (c *Campaign) Unwritten(err error) bool {
	api := new(jetstream.APIError)
	return errors.As(err, &api) && api.Code >= 500 || errors.Is(err, context.DeadlineExceeded) && c.nc.IsConnected()
}

// Logged is an answer in the log.
type Logged struct {
	Answer
	Seq    uint64 // its place in the log
	Header nats.Header
	None   error // why there is no answer: [ErrLost] or [ErrUnreadable]; it has its Kind, N and Try alone
}

// Answers calls f for what is in the log after a place, in order, and for what comes, until the context ends.
func (c *Campaign) Answers(ctx context.Context, after uint64, f func(Logged) error) error {
	consumer, err := c.log.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: after + 1,
	})
	if err != nil {
		return err
	}
	messages, err := consumer.Messages(jetstream.PullMaxMessages(answersAhead))
	if err != nil {
		return err
	}
	defer messages.Stop()
	defer context.AfterFunc(ctx, messages.Stop)()
	for {
		m, err := messages.Next()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return err
		}
		meta, err := m.Metadata()
		if err != nil {
			return err
		}
		l := Logged{Seq: meta.Sequence.Stream, Header: m.Headers()}
		err = c.read(ctx, m.Headers(), m.Data(), &l.Answer)
		if none(err) {
			l.Answer, l.None = Answer{}, err
			l.Kind, l.N, l.Try = taskOf(m.Subject())
		} else if err != nil {
			return err
		}
		if err := f(l); err != nil {
			return err
		}
	}
}

// answersAhead is how many answers are on their way to the coordinator at most.
const answersAhead = 32

func taskOf(subject string) (kind Kind, n, try int) {
	parts := strings.Split(subject, ".")
	last := len(parts) - 1
	_, _ = fmt.Sscan(parts[last-1]+" "+parts[last], &n, &try) // they were made of numbers
	return Kind(parts[last-2]), n, try
}

// Forget removes the answers up to a place from the log.
func (c *Campaign) Forget(ctx context.Context, upTo uint64) error {
	return c.log.Purge(ctx, jetstream.WithPurgeSequence(upTo+1))
}

// Drop removes the body of an answer that is counted.
func (c *Campaign) Drop(ctx context.Context, l Logged) error { return c.drop(ctx, l.Header) }

// LogState is what is in the log.
type LogState struct {
	Made time.Time // when the log was made
	Used uint64    // the last place that was ever given to an answer
	Last uint64    // the place of the last answer that is there; 0: there is none
}

// Log tells what is in the log.
func (c *Campaign) Log(ctx context.Context) (LogState, error) {
	info, err := c.log.Info(ctx)
	if err != nil {
		return LogState{}, err
	}
	s := LogState{Made: info.Created, Used: info.State.LastSeq}
	m, err := c.log.GetLastMsgForSubject(ctx, c.subject("answer", ">"))
	if errors.Is(err, jetstream.ErrMsgNotFound) { // after a full disk the last place may have no answer
		return s, nil
	}
	if err != nil {
		return s, err
	}
	s.Last = m.Sequence
	return s, nil
}

// Beat tells the coordinator how a worker is.
func (c *Campaign) Beat(b Beat) error {
	data, err := json.Marshal(b)
	if err != nil {
		return err
	}
	return c.nc.Publish(c.subject("beat"), data)
}

// Beats calls f for every heartbeat of a worker.
func (c *Campaign) Beats(f func(Beat)) error {
	_, err := c.nc.Subscribe(c.subject("beat"), func(m *nats.Msg) {
		var b Beat
		if json.Unmarshal(m.Data, &b) == nil {
			f(b)
		}
	})
	return err
}

// Status asks the coordinator how far the campaign is: a [status.Status] as JSON.
func (c *Campaign) Status(ctx context.Context) ([]byte, error) {
	m, err := c.nc.RequestWithContext(ctx, c.subject("status"), nil)
	if errors.Is(err, nats.ErrNoResponders) {
		return nil, ErrNone
	}
	if err != nil {
		return nil, err
	}
	var raw json.RawMessage
	err = unpack(m.Data, &raw)
	return raw, err
}

// Statuses answers [Campaign.Status].
func (c *Campaign) Statuses(f func() any) error {
	_, err := c.nc.Subscribe(c.subject("status"), func(m *nats.Msg) {
		if data, err := pack(f()); err == nil {
			_ = m.Respond(data) // who asked may have gone
		}
	})
	return err
}
