package server_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/google/go-cmp/cmp"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/fakezktest"
	"github.com/zktorture/zktorture/fakezk/server"
	"github.com/zktorture/zktorture/fakezk/wire"
	"github.com/zktorture/zktorture/fakezk/wire/strike"
	"github.com/zktorture/zktorture/internal/testkit"
)

// diary notes what struck.
type diary struct {
	mu      sync.Mutex
	strikes []strike.Strike
}

func (d *diary) note(s strike.Strike) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.strikes = append(d.strikes, s)
}

func (d *diary) all() []strike.Strike {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.strikes)
}

const (
	lasts  = 100 * time.Millisecond // faults that last
	longer = time.Second            // those that last while others come and go
)

// victim is a client that tells what becomes of it.
type victim struct {
	*testing.T
	s       *server.Server
	c       net.Conn
	granted wire.ConnectResponse
	began   time.Time
	lasts   time.Duration
}

// connect opens or resumes a session at the first server; "refused" if there is no answer.
func (v *victim) connect() string {
	c, err := net.Dial("tcp", v.s.Addr(0))
	if err != nil {
		v.Fatal(err)
	}
	v.Cleanup(func() { c.Close() })
	v.c = c
	c.SetDeadline(testkit.Deadline())
	c.Write(wire.AppendFrame(nil, &wire.ConnectRequest{
		Timeout: int32(lasting.Milliseconds()), Session: v.granted.Session, Password: v.granted.Password,
	}))
	var granted wire.ConnectResponse
	frame, err := wire.ReadFrame(c, nil, wire.FrameMax)
	if err != nil {
		return "refused"
	}
	if _, err := wire.Parse(frame, &granted); err != nil {
		v.Fatal(err)
	}
	if granted.Session == 0 {
		return "expired"
	}
	v.granted = granted
	return "back"
}

// comeBack connects again, when it can.
func (v *victim) comeBack() string {
	for {
		if answer := v.connect(); answer != "refused" {
			return v.late() + answer
		}
	}
}

// late reports whether the fault has lasted.
func (v *victim) late() string {
	if time.Since(v.began) >= v.lasts {
		return "late "
	}
	return ""
}

// request makes a request and tells what comes of it, events apart.
func (v *victim) request(xid int32, op wire.Op, body wire.Record) string {
	records := []wire.Record{&wire.RequestHeader{Xid: xid, Op: op}}
	if body != nil {
		records = append(records, body)
	}
	v.c.Write(wire.AppendFrame(nil, records...))
	for {
		var h wire.ReplyHeader
		frame, err := wire.ReadFrame(v.c, nil, wire.FrameMax)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return "silence"
		} else if err != nil {
			return "end"
		}
		if _, err := wire.Parse(frame, &h); err != nil {
			v.Fatal(err)
		}
		if h.Xid == xid {
			return v.late() + "reply"
		}
	}
}

// suffer makes two requests and a ping, and tells what came of it. A fault strikes at the second request, or at the
// event that it causes.
func (v *victim) suffer(patience time.Time) string {
	if v.connect(); v.request(1, wire.OpExists, &wire.WatchRequest{Path: "/x", Watch: true}) != "late reply" {
		v.Fatal("no reply")
	}
	v.lasts = lasts
	v.began = time.Now()
	v.c.SetDeadline(patience)
	told := v.request(2, wire.OpCreate, &wire.CreateRequest{Path: "/x", ACL: open})
	created := slices.Contains(tree(v.s), "/x ")
	if strings.HasSuffix(told, "reply") {
		told += ", " + strings.TrimPrefix(v.request(wire.XidPing, wire.OpPing, nil), "late ")
	}
	told += fmt.Sprintf(", created %v", created)
	if strings.Contains(told, "end") || strings.Contains(told, "silence") {
		told += ", " + v.comeBack()
	}
	return told
}

// sessionEnds lets the tick end in which the session has its end. A server that hangs until then goes on.
func (v *victim) sessionEnds() {
	v.s.Inspect(func(e *fakezk.Ensemble) { e.Tick(2 * tick) })
	v.s.Resume(0)
}

// What the effects of faults do to a client.
func TestWays(t *testing.T) {
	const away = "end, created false, late "
	outcomes := map[string]string{
		"loss before":    "end, created false, back",
		"loss after":     "end, created true, back",
		"loss idle":      "reply, end, created true, back",
		"loss deaf":      "silence, created false, back",
		"loss answer":    "end, created false, back",
		"hold short":     "late reply, reply, created true",
		"hold long":      "end, created false, expired",
		"refuse ":        away + "back",
		"ignore ":        away + "back",
		"watch held":     "late reply, reply, created true",
		"watch lost":     "end, created true, back",
		"expiry before":  "end, created false, expired",
		"expiry after":   "end, created true, expired",
		"expiry unaware": away + "expired",
		"lag ":           "reply, reply, created true",
		"kill ":          away + "back",
		"stop short":     "late reply, reply, created true",
		"stop long":      "end, created false, expired",
		"quorum ":        away + "back",
		"deposed ":       away + "back",
	}
	for _, way := range strike.Ways(strike.OnServe) {
		want, seen := outcomes[fmt.Sprint(way.Fault, " ", way.Variant)]
		if !seen {
			continue // what it does others do, too
		}
		t.Run(fmt.Sprint(way.Fault, way.Variant), func(t *testing.T) {
			t.Parallel()
			x := strike.Strike{Fault: way.Fault, Variant: way.Variant}
			if way.Most > 0 {
				x.ForMS = lasts.Milliseconds()
			}
			if way.Variant == "long" {
				x.ForMS = longer.Milliseconds()
			}
			x.Target = map[strike.Fault]int{strike.Kill: 1, strike.Stop: 1, strike.Lag: 2, strike.Deposed: 3}[way.Fault]
			at := strike.Place{Client: 1, Request: 2}
			if way.Fault == strike.Watch {
				at.Request = 1
			}
			var struck diary
			v := &victim{T: t}
			v.s = fakezktest.Start(t, server.Config{Ensemble: untimed(3), Faults: &server.Faults{
				Plan: strike.Plan{at: x}, Struck: func(x strike.Strike) {
					if struck.note(x); x.Variant == "long" {
						go v.sessionEnds()
					}
				},
			}})
			patience := testkit.Deadline()
			if way.Variant == "deaf" {
				patience = time.Now().Add(5 * lasts)
			}
			told := v.suffer(patience)
			if !strings.Contains(want, "late") {
				told = strings.ReplaceAll(told, "late ", "") // whatever else made it so
			}
			if told != want {
				t.Errorf("%s, want %s", told, want)
			}
			if got := struck.all(); len(got) != 1 || got[0].Fault != x.Fault || got[0].Request != at.Request {
				t.Errorf("%+v", got)
			}
		})
	}
}

// The answer to a connect gets lost: a session that has begun so stays, and its client, which does not know of it,
// begins another; one that a client comes back with goes on.
func TestAnswersGetLost(t *testing.T) {
	lost := strike.Strike{Fault: strike.Loss, Variant: strike.Answer}
	plan := strike.Plan{{Client: 1, Request: strike.Hello}: lost, {Client: 2, Request: 1}: lost}
	var struck diary
	s := fakezktest.Start(t, server.Config{Faults: &server.Faults{Plan: plan, Struck: struck.note}})
	v := &victim{T: t, s: s}
	first := v.connect()
	begun := sessions(s)
	second := v.connect()
	known := v.granted.Session
	told := []string{first, second, v.request(1, wire.OpExists, &wire.WatchRequest{Path: "/"}), v.connect(), v.connect()}
	if want := []string{"refused", "back", "end", "refused", "back"}; !slices.Equal(told, want) {
		t.Errorf("%q, want %q", told, want)
	}
	if len(begun) != 1 || !slices.Equal(sessions(s), append(begun, known)) || v.granted.Session != known {
		t.Errorf("sessions %x had begun, and %x are there; the client has had %x, and has %x", begun, sessions(s), known,
			v.granted.Session)
	}
	for i, x := range struck.all() {
		if at := (strike.Place{Client: x.Client, Request: x.Request}); plan[at] != lost || at.Client != i+1 || x.Session == "" {
			t.Errorf("%+v struck", x)
		}
	}
	if n := len(struck.all()); n != len(plan) {
		t.Errorf("%d faults struck", n)
	}
}

// sessions are the servers' sessions, by id.
func sessions(s *server.Server) (ids []int64) {
	s.Inspect(func(e *fakezk.Ensemble) {
		for _, info := range e.Sessions() {
			ids = append(ids, info.ID)
		}
	})
	return ids
}

// What others do is late for a client that is held, too.
func TestHoldHoldsEvents(t *testing.T) {
	var struck diary
	x := strike.Strike{Fault: strike.Hold, Variant: "short", ForMS: 2 * lasts.Milliseconds()}
	s := fakezktest.Start(t, server.Config{
		Faults: &server.Faults{Plan: strike.Plan{{Client: 1, Request: 2}: x}, Struck: struck.note},
	})
	held := dialRaw(t, s.Addr(0), wire.ConnectResponse{})
	other := dialRaw(t, s.Addr(0), wire.ConnectResponse{})
	held.send(&wire.RequestHeader{Xid: 1, Op: wire.OpExists}, &wire.WatchRequest{Path: "/x", Watch: true})
	held.wantHeader(1, wire.CodeNoNode)
	began := time.Now()
	held.send(&wire.RequestHeader{Xid: 2, Op: wire.OpGetData}, &wire.WatchRequest{Path: "/"})
	testkit.Until(t, "it is held", func() bool { return len(struck.all()) > 0 })
	other.send(&wire.RequestHeader{Xid: 1, Op: wire.OpCreate}, &wire.CreateRequest{Path: "/x", ACL: open})
	other.wantHeader(1, 0)
	held.wantHeader(wire.XidWatch, 0)
	if took := time.Since(began); took < 2*lasts {
		t.Errorf("the event comes after %v", took)
	}
	held.wantHeader(2, 0)
}

// Faults of servers strike other servers than the client's, and end; those of one kind that overlap end with the last.
func TestServersSuffer(t *testing.T) {
	t.Parallel()
	plan := strike.Plan{}
	for i, x := range []strike.Strike{
		{Fault: strike.Lag, Target: 2}, {Fault: strike.Kill, Target: 3},
		{Fault: strike.Stop, Variant: "short", Target: 2}, {Fault: strike.Kill, Target: 3},
	} {
		x.ForMS = longer.Milliseconds()
		if i == 1 {
			x.ForMS = lasts.Milliseconds()
		}
		plan[strike.Place{Client: 1, Request: i + 1}] = x
	}
	var struck diary
	s := fakezktest.Start(t, server.Config{
		Ensemble: fakezk.Config{Replicas: 3}, Faults: &server.Faults{Plan: plan, Struck: struck.note},
	})
	c := dialRaw(t, s.Addr(0), wire.ConnectResponse{})
	began := time.Now()
	for i := range int32(len(plan)) {
		c.send(&wire.RequestHeader{Xid: i, Op: wire.OpCreate}, &wire.CreateRequest{Path: fmt.Sprint("/", i), ACL: open})
		c.wantHeader(i, 0)
	}
	lagging := func() (n int) {
		s.Inspect(func(e *fakezk.Ensemble) { n = e.Behind(1) })
		return n
	}
	if n := lagging(); n != 4 && time.Since(began) < longer {
		t.Errorf("the second server is %d transactions behind, want 4", n)
	}
	for dead := true; dead; {
		c, err := net.Dial("tcp", s.Addr(2))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(c, "ruok")
		n, _ := c.Read(make([]byte, 4))
		dead = n == 0
		c.Close()
	}
	if took := time.Since(began); took < longer {
		t.Errorf("the third server is well after %v, want %v", took, longer)
	}
	testkit.Until(t, "the second server has caught up", func() bool { return lagging() == 0 })
	if ask(t, s.Addr(1), "ruok") != "imok" || len(struck.all()) != len(plan) {
		t.Errorf("%+v", struck.all())
	}
}

// stubborn makes requests one after the other, each once, whatever happens.
func stubborn(t *testing.T, s *server.Server, requests int) {
	v := &victim{T: t, s: s}
	v.connect()
	for i := range int32(requests) {
		v.c.SetDeadline(time.Now().Add(3 * lasts)) // nothing depends on it: a request is made once
		if v.request(i, wire.OpExists, &wire.WatchRequest{Path: "/"}) == "late reply" {
			continue
		}
		if v.comeBack() == "late expired" {
			v.granted = wire.ConnectResponse{}
			v.comeBack()
		}
	}
}

// Equal seeds and equal clients meet equal faults, with any number of servers; another seed brings others; and what
// struck strikes again as a plan.
func TestEqualClientsMeetEqualFaults(t *testing.T) {
	t.Parallel()
	run := func(members int, f server.Faults) (struck []strike.Strike) {
		var noted diary
		f.Struck, f.Every = noted.note, 8
		cfg := untimed(members)
		cfg.MinSession, cfg.MaxSession = 200, 200 // faults last in proportion
		s := fakezktest.Start(t, server.Config{Ensemble: cfg, Faults: &f})
		stubborn(t, s, 60)
		for _, x := range noted.all() {
			x.Time, x.Session, x.Server, x.Connection = time.Time{}, "", "", 0
			struck = append(struck, x)
		}
		return struck
	}
	faults := []strike.Fault{strike.Loss, strike.Expiry}
	first := run(1, server.Faults{Strike: faults, Seed: 3})
	if len(first) < 5 {
		t.Errorf("too little struck: %+v", first)
	}
	ended := 0
	for _, x := range first {
		if x.Fault == strike.Expiry {
			ended++
		}
	}
	if last := first[len(first)-1]; last.Client > 1+ended {
		t.Errorf("%d sessions have ended, and this is client %d", ended, last.Client)
	}
	if again := run(3, server.Faults{Strike: faults, Seed: 3}); cmp.Diff(first, again) != "" {
		t.Error(cmp.Diff(first, again))
	}
	if other := run(1, server.Faults{Strike: faults, Seed: 4}); cmp.Equal(first, other) {
		t.Error("another seed brings the same")
	}
	plan := strike.Plan{}
	for _, x := range first {
		plan[strike.Place{Client: x.Client, Request: x.Request}] = x
	}
	if again := run(1, server.Faults{Plan: plan}); cmp.Diff(first, again) != "" {
		t.Error(cmp.Diff(first, again))
	}
}

// Ordinary clients meet faults of many kinds, and what they were told of their writes is true.
func TestOrdinaryClients(t *testing.T) {
	if testing.Short() {
		t.Skip("clients go through outages of real time")
	}
	t.Parallel()
	var noted diary
	s := fakezktest.Start(t, server.Config{
		Ensemble: fakezk.Config{Replicas: 3, MaxSession: 400, MinSession: 400, Tick: 20},
		Faults: &server.Faults{
			Strike: strike.FaultsOf(3), Every: 60, Seed: 1, Struck: noted.note,
		},
	})
	half := len(strike.Ways(strike.OnServe)) / 2 // each is tested alone, too
	met := func() map[string]bool {
		ways := map[string]bool{}
		for _, x := range noted.all() {
			ways[fmt.Sprint(x.Fault, " ", x.Variant)] = true
		}
		return ways
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var clients sync.WaitGroup
	wrote := make([][]string, 8)
	for i := range wrote {
		clients.Go(func() {
			c, _, err := zk.Connect(strings.Split(s.ConnectString(), ","), 400*time.Millisecond, zk.WithLogInfo(false))
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			c.SetLogger(log.New(io.Discard, "", 0))
			for n := 0; ctx.Err() == nil && (len(met()) < half || len(wrote[i]) == 0); n++ {
				time.Sleep(20 * time.Millisecond) // else hardly anything meets a ping
				path := fmt.Sprintf("/%d-%d", i, n)
				if _, _, _, err := c.ExistsW(path); err != nil {
					continue
				}
				if _, err := c.Create(path, nil, 0, open); err == nil {
					wrote[i] = append(wrote[i], path+" ")
				}
			}
		})
	}
	clients.Wait()
	if len(met()) < half {
		t.Errorf("only these struck: %v", met())
	}
	there := tree(s)
	for i := range wrote {
		if len(wrote[i]) == 0 {
			t.Errorf("client %d has written nothing", i)
		}
		for _, path := range wrote[i] {
			if !slices.Contains(there, path) {
				t.Errorf("%s was created, and is not there", path)
			}
		}
	}
}

func TestFaultsRefused(t *testing.T) {
	for says, f := range map[string]server.Faults{
		"lag cannot strike 1 servers":  {Strike: []strike.Fault{strike.Loss, strike.Lag}, Every: 1},
		"rain cannot strike":           {Strike: []strike.Fault{"rain"}, Every: 1},
		"one request in 0 cannot draw": {Strike: []strike.Fault{strike.Loss}},
	} {
		if _, err := server.New(server.Config{Faults: &f}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %s", err, says)
		}
	}
}
