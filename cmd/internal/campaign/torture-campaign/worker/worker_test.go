package worker_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/zktorture/zktorture/cmd/internal/campaign"
	"github.com/zktorture/zktorture/cmd/internal/campaign/torture-campaign/engine"
	"github.com/zktorture/zktorture/cmd/internal/campaign/torture-campaign/worker"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/tally"
)

// does is a runner whose units are what a function does.
type does func() error

func (d does) Unit(_ context.Context, n int) (campaign.UnitResult, error) {
	return campaign.UnitResult{Unit: campaign.Unit{Number: n}}, d()
}
func (d does) Conclude(context.Context, int, tally.Part) (campaign.JobReport, error) {
	return campaign.JobReport{Result: sim.Result{Reason: "concluded"}}, d()
}
func (does) Close() {}

// Errors of runners.
var (
	errKilled = errors.New("killed by somebody")
	errFatal  = errors.New("there is no program")
	errFroze  = errors.New("it froze")
)

// bench is a campaign with tasks for workers.
type bench struct {
	*testing.T
	*engine.Campaign
	nc     *nats.Conn
	plan   *campaign.Plan
	server *engine.Server
}

func newBench(t *testing.T) *bench {
	t.Helper()
	plan, err := campaign.ParsePlan([]byte(`{"format": "zktorture plan 1", "name": "test", "canary": "none",
		"jobs": [{"kinds": ["lock"]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	s, err := engine.Serve(engine.ServerConfig{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	nc, err := engine.Access{URL: "nats://in-process", InProcess: s}.Dial(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	c, err := engine.Open(t.Context(), nc, "test", engine.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	return &bench{t, c, nc, plan, s}
}

// work starts a worker. What it returns waits for its end.
func (b *bench) work(ctx context.Context, name string, do does) (end func() error) {
	ended := make(chan error, 1)
	go func() {
		ended <- worker.Work(ctx, b.nc, "test", worker.Config{
			Name: name, Slots: 1, Plan: b.plan, Say: func(string) {}, Runner: func() worker.Runner { return do },
			Killed: func(err error) bool { return errors.Is(err, errKilled) },
			Fatal:  func(err error) bool { return errors.Is(err, errFatal) },
			Crash:  func(error) string { return "episode" },
		})
	}()
	return func() error { return <-ended }
}

// answer asks, and waits for the first answer.
func (b *bench) answer(task engine.Task) (first engine.Logged) {
	b.Helper()
	if err := b.Ask(b.Context(), task); err != nil {
		b.Fatal(err)
	}
	done := errors.New("it is there")
	err := b.Answers(b.Context(), 0, func(l engine.Logged) error {
		first = l
		return done
	})
	if !errors.Is(err, done) {
		b.Fatal(err)
	}
	return first
}

// A unit whose process was killed is no answer: it is done again. One that froze is an answer.
func TestKilledAndFrozen(t *testing.T) {
	b := newBench(t)
	var times atomic.Int32
	b.work(t.Context(), "w", func() error {
		if times.Add(1) < 3 {
			return errKilled
		}
		return errFroze
	})
	a := b.answer(engine.Task{Kind: engine.Unit, N: 4, Try: 1})
	want := engine.Answer{
		Kind: engine.Unit, N: 4, Try: 1, Plan: b.plan.Digest(), Worker: "w", Failed: errFroze.Error(), Crash: "episode",
	}
	if a.Answer != want || times.Load() != 3 {
		t.Errorf("after %d times the answer is %+v", times.Load(), a.Answer)
	}
}

// A unit that ends whoever takes it is not given out for ever.
func TestKilledEachTime(t *testing.T) {
	b := newBench(t)
	var times atomic.Int32
	b.work(t.Context(), "w", func() error {
		times.Add(1)
		return errKilled
	})
	a := b.answer(engine.Task{Kind: engine.Unit, N: 4})
	if !a.Last || !strings.Contains(a.Failed, "20 times") || times.Load() != 20 {
		t.Errorf("after %d times the answer is %+v", times.Load(), a.Answer)
	}
}

// A task that a worker has failed at is done by another, if there is one; by itself, if there is none.
func TestOthersFirst(t *testing.T) {
	for name, want := range map[string]string{"other": "other", "": "failed"} {
		b := newBench(t)
		ctx, cancel := context.WithCancel(t.Context())
		ends := []func() error{b.work(ctx, "failed", func() error { return nil })}
		if name != "" {
			ends = append(ends, b.work(ctx, name, func() error { return nil }))
		}
		part := &tally.Part{Counts: tally.Counts{Episodes: 3}}
		a := b.answer(engine.Task{Kind: engine.Conclude, N: 1, Not: []string{"failed"}, Part: part})
		if a.Worker != want || a.Job == nil || a.Job.Reason != "concluded" {
			t.Errorf("of %q and one that has failed the answer is %+v", name, a.Answer)
		}
		cancel()
		for _, end := range ends {
			if err := end(); !errors.Is(err, context.Canceled) {
				t.Errorf("a worker ends with %v", err)
			}
		}
	}
}

// A worker that can do nothing ends, and leaves its task to others.
func TestFatal(t *testing.T) {
	b := newBench(t)
	end := b.work(t.Context(), "broken", func() error { return errFatal })
	if err := b.Ask(t.Context(), engine.Task{Kind: engine.Unit, N: 1}); err != nil {
		t.Fatal(err)
	}
	if err := end(); !errors.Is(err, errFatal) {
		t.Errorf("it ends with %v", err)
	}
	b.work(t.Context(), "good", func() error { return nil })
	if a := b.answer(engine.Task{Kind: engine.Unit, N: 1}); a.Worker != "good" || a.Unit == nil {
		t.Errorf("then the answer is %+v", a.Answer)
	}
}

// A worker ends when its campaign ends, and one that comes later too.
func TestCampaignEnds(t *testing.T) {
	b := newBench(t)
	end := b.work(t.Context(), "w", func() error { return nil })
	b.answer(engine.Task{Kind: engine.Unit, N: 1})
	if err := b.End(t.Context(), []byte("report")); err != nil {
		t.Fatal(err)
	}
	if err := end(); err != nil {
		t.Errorf("it ends with %v", err)
	}
	if err := b.work(t.Context(), "late", does(nil))(); err != nil {
		t.Errorf("a late one ends with %v", err)
	}
	say := func(string) {}
	if _, err := worker.Plan(t.Context(), b.nc, "", say); !errors.Is(err, worker.ErrEnded) {
		t.Errorf("the plan of a campaign that has ended: %v", err)
	}
}

// A worker whose coordinator does not come back gives up.
func TestPatience(t *testing.T) {
	b := newBench(t)
	ended := make(chan error, 1)
	go func() {
		ended <- worker.Work(t.Context(), b.nc, "test", worker.Config{
			Name: "w", Slots: 1, Plan: b.plan, Say: func(string) {}, Runner: func() worker.Runner { return does(func() error { return nil }) },
			Patience: time.Second, Killed: func(error) bool { return false }, Fatal: func(error) bool { return false },
		})
	}()
	b.answer(engine.Task{Kind: engine.Unit, N: 1})
	b.server.Close()
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "was not there for 1s") {
		t.Errorf("it ends with %v", err)
	}
}
