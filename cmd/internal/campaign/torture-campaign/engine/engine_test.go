package engine_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/zktorture/zktorture/cmd/internal/campaign"
	"github.com/zktorture/zktorture/cmd/internal/campaign/torture-campaign/engine"
	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/sim/tally"
)

const token = "not-a-secret"

// serve starts a server on the files in a folder.
func serve(t *testing.T, dir string) *engine.Server {
	t.Helper()
	s, err := engine.Serve(engine.ServerConfig{Dir: dir, Listen: "127.0.0.1:0", Token: token})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func dial(t *testing.T, s *engine.Server) *nats.Conn {
	t.Helper()
	nc, err := engine.Access{URL: "nats://in-process", InProcess: s, Token: token}.Dial(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// ackWait is how long a worker may be silent, on a busy machine too.
const ackWait = 4 * time.Second

func open(t *testing.T, nc *nats.Conn) *engine.Campaign {
	t.Helper()
	c, err := engine.Open(t.Context(), nc, "test", engine.Settings{AckWait: ackWait})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func ask(t *testing.T, c *engine.Campaign, task engine.Task) {
	t.Helper()
	if err := c.Ask(t.Context(), task); err != nil {
		t.Fatal(err)
	}
}

// next is the next task; nil: there is none.
func next(t *testing.T, c *engine.Campaign) *engine.Asked {
	t.Helper()
	a, err := c.Next(t.Context(), time.Second/2)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// taken is the next task, which must come.
func taken(t *testing.T, c *engine.Campaign) (a *engine.Asked) {
	t.Helper()
	testkit.Until(t, "a task comes", func() bool {
		a = next(t, c)
		return a != nil
	})
	return a
}

// logged are the answers in the log after a place.
func logged(t *testing.T, c *engine.Campaign, after uint64) (all []engine.Logged) {
	t.Helper()
	state, err := c.Log(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if state.Last <= after {
		return nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	err = c.Answers(ctx, after, func(l engine.Logged) error {
		if all = append(all, l); l.Seq == state.Last {
			cancel()
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	return all
}

// A task is in the queue once, however often it is asked for, until it is answered; another try is another task.
func TestAskedOnce(t *testing.T) {
	c := open(t, dial(t, serve(t, t.TempDir())))
	for range 3 {
		ask(t, c, engine.Task{Kind: engine.Unit, N: 7})
	}
	a := taken(t, c)
	if a == nil || a.Kind != engine.Unit || a.N != 7 || a.Deliveries != 1 {
		t.Fatalf("the task is %+v", a)
	}
	ask(t, c, engine.Task{Kind: engine.Unit, N: 7}) // as a coordinator does that goes on
	if again := next(t, c); again != nil {
		t.Fatalf("the task is there twice: %+v", again)
	}
	if err := a.Done(t.Context()); err != nil {
		t.Fatal(err)
	}
	ask(t, c, engine.Task{Kind: engine.Unit, N: 7, Try: 1, Not: []string{"me"}})
	if a := taken(t, c); a.Try != 1 || !slices.Equal(a.Not, []string{"me"}) {
		t.Fatalf("the second try is %+v", a)
	}
}

// A task is given to another when who took it is not heard of, and not while he says that he is at work.
func TestSilentWorker(t *testing.T) {
	c := open(t, dial(t, serve(t, t.TempDir())))
	ask(t, c, engine.Task{Kind: engine.Unit, N: 1})
	ctx, silent := context.WithCancel(t.Context())
	a := taken(t, c)
	var over atomic.Bool
	go func() {
		a.Alive(ctx)
		over.Store(true)
	}()
	for began := time.Now(); time.Since(began) < 2*ackWait; {
		if b := next(t, c); b != nil {
			t.Fatal("the task of a worker that is at work is given to another")
		}
	}
	silent()
	for {
		if b := next(t, c); b != nil {
			if b.Deliveries != 2 {
				t.Errorf("it is given out the %dth time", b.Deliveries)
			}
			break
		}
	}
	if !over.Load() {
		t.Error("it was given out while its worker was at work")
	}
}

// large is a part of so many bytes that cannot be compressed.
func large(bytes int) *tally.Part {
	random := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	for range bytes {
		b.WriteByte("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-"[random.IntN(64)])
	}
	return &tally.Part{Counts: tally.Counts{NotJudged: []string{b.String()}}}
}

// Questions and answers may be large: 32 MB, which take 24 as they are compressed (the quick test: 4). What is counted is
// removed, body and all.
func TestLarge(t *testing.T) {
	nc := dial(t, serve(t, t.TempDir()))
	c := open(t, nc)
	size := 32 << 20
	if testing.Short() {
		size = 4 << 20
	}
	part := large(size)
	ask(t, c, engine.Task{Kind: engine.Conclude, N: 3, Part: part})
	a := taken(t, c)
	if a == nil || a.Part.NotJudged[0] != part.NotJudged[0] {
		t.Fatal("the question is not what was asked")
	}
	answer := engine.Answer{Kind: engine.Unit, N: 3, Unit: &campaign.UnitResult{Part: part}}
	if err := c.Answer(t.Context(), answer); err != nil {
		t.Fatal(err)
	}
	all := logged(t, c, 0)
	if len(all) != 1 || all[0].Unit.Part.NotJudged[0] != part.NotJudged[0] {
		t.Fatal("the answer is not what was answered")
	}
	if err := a.Done(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.Drop(t.Context(), all[0]); err != nil {
		t.Fatal(err)
	}
	if err := c.Forget(t.Context(), all[0].Seq); err != nil {
		t.Fatal(err)
	}
	if left := stored(t, nc); left > 1<<20 {
		t.Errorf("%d bytes are left", left)
	}
}

// stored is how much is in all streams.
func stored(t *testing.T, nc *nats.Conn) (bytes uint64) {
	t.Helper()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	for s := range js.ListStreams(t.Context()).Info() {
		bytes += s.State.Bytes
	}
	return bytes
}

// The log is what it was when the server is started again. Places that are forgotten are not used again.
func TestLogLasts(t *testing.T) {
	dir := t.TempDir()
	s := serve(t, dir)
	c := open(t, dial(t, s))
	for n := range 5 {
		if err := c.Answer(t.Context(), engine.Answer{Kind: engine.Unit, N: n}); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Forget(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	before, err := c.Log(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	c = open(t, dial(t, serve(t, dir)))
	if again, err := c.Log(t.Context()); err != nil || again != before || again.Last != 5 || again.Used != 5 {
		t.Errorf("the log was %+v, and is %+v: %v", before, again, err)
	}
	var units []int
	for _, l := range logged(t, c, 2) {
		units = append(units, l.N)
	}
	if !slices.Equal(units, []int{2, 3, 4}) {
		t.Errorf("the log has %v", units)
	}
	if err := c.Forget(t.Context(), 5); err != nil {
		t.Fatal(err)
	}
	if empty, err := c.Log(t.Context()); err != nil || empty.Last != 0 || empty.Used != 5 {
		t.Errorf("the log without answers is %+v: %v", empty, err)
	}
}

// An answer whose body is not there is told as lost, by the task that it answers.
func TestLostBody(t *testing.T) {
	nc := dial(t, serve(t, t.TempDir()))
	c := open(t, nc)
	answer := engine.Answer{Kind: engine.Unit, N: 12, Try: 2, Unit: &campaign.UnitResult{Part: large(1 << 20)}}
	if err := c.Answer(t.Context(), answer); err != nil {
		t.Fatal(err)
	}
	if err := c.Drop(t.Context(), logged(t, c, 0)[0]); err != nil {
		t.Fatal(err)
	}
	all := logged(t, c, 0)
	if len(all) != 1 || !errors.Is(all[0].None, engine.ErrLost) || all[0].Kind != engine.Unit || all[0].N != 12 || all[0].Try != 2 {
		t.Errorf("the log has %+v", all)
	}
}

// What is no answer is told as one that cannot be read, by its subject, in bounded memory; so is what is too large.
// What follows is read.
func TestUnreadable(t *testing.T) {
	nc := dial(t, serve(t, t.TempDir()))
	c := open(t, nc)
	bodies := [][]byte{[]byte("not gzip"), packed(t, "not JSON"), packed(t, `{"n": "x"}`), packed(t, `{"n": 1`),
		packed(t, `{"worker": "`+strings.Repeat(" ", 64<<20)+`"}`), packed(t, `{"not":[`+strings.Repeat("{},", 1<<18)+`{}]}`)}
	bodies = append(bodies, bodies[1][:20])
	for i, body := range bodies {
		if err := nc.Publish(fmt.Sprintf("torture.test.answer.unit.3.%d", i), body); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Answer(t.Context(), engine.Answer{Kind: engine.Unit, N: 12, Try: 2, Worker: "w"}); err != nil {
		t.Fatal(err)
	}
	all := logged(t, c, 0)
	if len(all) != len(bodies)+1 {
		t.Fatalf("the log has %d answers", len(all))
	}
	for i, l := range all[:len(bodies)] {
		if !errors.Is(l.None, engine.ErrUnreadable) || l.Kind != engine.Unit || l.N != 3 || l.Try != i {
			t.Errorf("answer %d: %+v", i, l)
		}
	}
	if last := all[len(bodies)]; last.None != nil || last.Worker != "w" {
		t.Errorf("the last: %+v", last)
	}
}

// packed is a text as the body of a message has it.
func packed(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.WriteString(z, text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Who comes when the campaign has ended learns that, and gets the report.
func TestEnd(t *testing.T) {
	nc := dial(t, serve(t, t.TempDir()))
	if _, err := engine.Join(t.Context(), nc, ""); !errors.Is(err, engine.ErrNone) {
		t.Errorf("a server without a campaign says %v", err)
	}
	c := open(t, nc)
	if err := c.SetPlan(t.Context(), []byte("plan")); err != nil {
		t.Fatal(err)
	}
	worker, err := engine.Join(t.Context(), nc, "")
	if err != nil {
		t.Fatal(err)
	}
	if plan, err := worker.Plan(t.Context()); err != nil || string(plan) != "plan" || worker.HasEnded(t.Context()) {
		t.Errorf("the plan is %q, %v, and it has ended: %v", plan, err, worker.HasEnded(t.Context()))
	}
	told := make(chan bool, 1)
	if err := worker.Ended(func() { told <- true }); err != nil {
		t.Fatal(err)
	}
	if err := c.End(t.Context(), []byte("report")); err != nil {
		t.Fatal(err)
	}
	<-told
	if r, err := worker.Report(t.Context()); err != nil || string(r) != "report" || !worker.HasEnded(t.Context()) {
		t.Errorf("the report is %q, %v", r, err)
	}
}

// Of several campaigns on one server that is taken which the address names.
func TestSeveralCampaigns(t *testing.T) {
	nc := dial(t, serve(t, t.TempDir()))
	for _, id := range []string{"one", "two"} {
		c, err := engine.Open(t.Context(), nc, id, engine.Settings{})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.SetPlan(t.Context(), []byte(id)); err != nil {
			t.Fatal(err)
		}
	}
	_, err := engine.Join(t.Context(), nc, "")
	if !errors.Is(err, engine.ErrRefused) || !strings.Contains(err.Error(), "/two") {
		t.Errorf("with two campaigns: %v", err)
	}
	c, err := engine.Join(t.Context(), nc, "two")
	if err != nil {
		t.Fatal(err)
	}
	if plan, err := c.Plan(t.Context()); string(plan) != "two" {
		t.Errorf("the plan is %q, %v", plan, err)
	}
}
