package confirm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/fakezk/wire"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
)

// heard reads what a watch has been told so far, and whether its channel is closed.
func heard(watch <-chan zk.Event) (all []string) {
	for {
		select {
		case e, open := <-watch:
			if !open {
				return append(all, "closed")
			}
			all = append(all, fmt.Sprintf("%v %v", e.Type, e.State))
		default:
			return all
		}
	}
}

// wants checks what a watch has heard.
func wants(t *testing.T, watch <-chan zk.Event, want ...string) {
	t.Helper()
	if got := heard(watch); !slices.Equal(got, want) {
		t.Errorf("the watch has heard %q, want %q", got, want)
	}
}

// Watches hear of the connection what they hear of it in package fakezk.
func TestClientSemantics(t *testing.T) {
	states := []zk.State{zk.StateConnecting, zk.StateDisconnected, zk.StateHasSession, zk.StateExpired}
	watch := func(f goclient.ClientSemantics) (w *clientWatches, fired chan zk.Event, told <-chan zk.Event) {
		w, fired = &clientWatches{semantics: f}, make(chan zk.Event, 1)
		told = w.wrap(fired)
		for _, s := range states {
			w.tell(s)
		}
		return w, fired, told
	}
	_, _, told := watch(goclient.SemanticsGo)
	wants(t, told)
	_, fired, told := watch(goclient.SemanticsJava)
	wants(t, told, "EventSession StateDisconnected", "EventSession StateHasSession", "EventSession StateExpired")
	fired <- zk.Event{Type: zk.EventNodeDeleted, State: zk.StateSyncConnected}
	if e := <-told; e.Type != zk.EventNodeDeleted {
		t.Error(e)
	}
	if _, open := <-told; open {
		t.Error("the watch is still armed after its event")
	}
	w, _, told := watch(goclient.SemanticsKazoo)
	wants(t, told, "EventSession StateDisconnected", "closed")
	if !w.forgets() || (&clientWatches{semantics: goclient.SemanticsJava}).forgets() {
		t.Error("kazoo's client alone sets no watch again")
	}
}

// A path of real servers is that of the simulation if what is random in it is all that differs.
func TestSamePath(t *testing.T) {
	for _, tc := range []struct {
		simulated, real string
		same            bool
	}{
		{"/t/lock", "/t/lock", true},
		{"/t/lock/x-72057594037927937-0000000001", "/t/lock/x-216176346097254401-0000000001", true},
		{"/t/lock/x-0000000001", "/t/lock/x-0000000002", false},
		{"/t/lock/x--2147483648", "/t/lock/x-2147483647", false},
		{"/t/lock", "/t", false},
	} {
		if got := samePath(tc.simulated, tc.real); got != tc.same {
			t.Errorf("%s and %s: %v", tc.simulated, tc.real, got)
		}
	}
}

// A violation is confirmed by the same property, or, if a client waits for ever, by any property that says why.
func TestSameProperty(t *testing.T) {
	for _, tc := range []struct {
		simulated, real string
		waits, same     bool
	}{
		{"exclusion", "exclusion", false, true},
		{"lost-wakeup", "progress", true, true},
		{"orphan", "progress", true, true},
		{"orphan", "progress", false, false},
		{"exclusion", "progress", true, false},
		{"startup", "unexpected-error", false, true},
		{"progress", "exclusion", true, false},
	} {
		if got := sameProperty(tc.simulated, tc.real, tc.waits); got != tc.same {
			t.Errorf("%s there and %s here: %v", tc.simulated, tc.real, got)
		}
	}
}

// A trace in which numbers wrap, or leaders change, is not tried, and says where.
func TestUnconductible(t *testing.T) {
	makes := func(step int, path string) world.Change {
		return world.Change{Change: fakezk.Change{Op: wire.OpCreate, Path: path, Sequential: true}, Step: step}
	}
	wraps := &sim.Replayed{Record: &world.Record{Struck: world.Wrap, Changes: []world.Change{
		makes(3, "/t/lock/x-2147483647"), makes(5, "/t/lock/x--2147483648"),
	}}}
	want := "step 5: the counter of sequential znodes goes on to -2147483648, " +
		"where ZooKeeper 3.8's sticks at 2147483647"
	if got := unconfirmable(wraps, Config{}); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	wraps.Record.Changes = wraps.Record.Changes[:1]
	want = "step 3: the counter of sequential znodes begins near its end, " +
		"which takes 2147483647 creates on real servers"
	if got := unconfirmable(wraps, Config{}); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := unconfirmable(&sim.Replayed{Record: &world.Record{Struck: world.Crash}}, Config{}); got != "" {
		t.Error(got)
	}
	for fault, want := range map[world.Faults]string{world.Quorum: "lose their majority", world.Deposed: "is deposed"} {
		elects := &sim.Replayed{Record: &world.Record{Struck: fault}, Trace: []world.Step{
			{N: 1, Detail: world.Detail{Kind: world.KindExchange}}, {N: 2, Detail: world.Detail{Kind: world.KindFault, Fault: fault}},
		}}
		if got := unconfirmable(elects, Config{}); !strings.HasPrefix(got, "step 2: ") || !strings.Contains(got, want) {
			t.Errorf("%v: %q", fault, got)
		}
	}
}

// Only lines in which nothing but time passes may take as long as in the trace.
func TestLeap(t *testing.T) {
	r := &replayer{trace: []world.Step{
		{Event: "time", At: time.Second, Detail: world.Detail{Kind: world.KindTime}},
		{Event: "get", At: 3 * time.Second, Detail: world.Detail{Kind: world.KindExchange}},
		{Event: "time", At: 7 * time.Second, Detail: world.Detail{Kind: world.KindTime}},
		{Event: "! time", At: 15 * time.Second, Detail: world.Detail{Kind: world.KindFault, Fault: world.Time}},
	}}
	for i, want := range []time.Duration{0, 0, 4 * time.Second, 8 * time.Second} {
		if got := r.leap(i); got != want {
			t.Errorf("line %d: %v, want %v", i, got, want)
		}
	}
}

// A counterexample is tried again as long as an event was missed or something else was different, up to a bound for each.
func TestTried(t *testing.T) {
	missed, differs := Confirmation{Difference: "a get", missed: true}, Confirmation{Difference: "a get"}
	seen, same := Confirmation{Difference: "a get", Violation: &sim.Violation{}}, Confirmation{}
	for name, tc := range map[string]struct {
		found []Confirmation // of the tries in turn; the last stands for all later ones
		tries int
	}{
		"same":                   {[]Confirmation{same}, 1},
		"missed twice":           {[]Confirmation{missed, missed, same}, 3},
		"missed always":          {[]Confirmation{missed}, missedMax},
		"different, and seen":    {[]Confirmation{seen, same}, 1},
		"different once":         {[]Confirmation{differs, same}, 2},
		"different, then seen":   {[]Confirmation{differs, seen}, 2},
		"different always":       {[]Confirmation{differs}, differentMax},
		"missed, then different": {[]Confirmation{missed, missed, missed, missed, differs}, 4 + differentMax},
		"missed, then once":      {[]Confirmation{missed, missed, missed, missed, differs, same}, 6},
	} {
		n := 0
		confirmed, err := tried(func() (*Confirmation, error) {
			found := tc.found[min(n, len(tc.found)-1)]
			n++
			return &found, nil
		})
		if err != nil || confirmed.Tries != tc.tries || n != tc.tries {
			t.Errorf("%s: tried %d times, and says %d, want %d: %v", name, n, confirmed.Tries, tc.tries, err)
		}
	}
	failed := errors.New("no servers")
	if _, err := tried(func() (*Confirmation, error) { return nil, failed }); err != failed {
		t.Error(err)
	}
}

// vain is a stepper that notes where clients connect in vain, and by way of which servers the sessions are ended.
type vain struct {
	Stepper
	at, ended []int
}

func (v *vain) ConnectInVain(_ context.Context, server int) (Ending, error) {
	v.at = append(v.at, server)
	return func(_ context.Context, by int) (bool, error) { v.ended = append(v.ended, by); return true, nil }, nil
}

// A session that was begun in vain begins at the server of the trace, and ends by way of the leader when it does there,
// or else with the round.
func TestSessionsOfNobody(t *testing.T) {
	const first, second = 3<<56 | 1, 1<<56 | 2
	stepper := &vain{}
	r := &replayer{vain: map[int64]Ending{}, owners: map[int64]*incarnation{}, deaths: map[int][]int64{5: {first}}}
	p := &incarnation{replayer: r, stepper: stepper}
	for _, session := range []int64{first, second} {
		lost := world.Step{N: 4, Detail: world.Detail{Kind: world.KindFault, Fault: world.Loss, Vain: session}}
		if err := r.lose(t.Context(), p, lost); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.awaitExpected(t.Context(), 5); err != nil || len(stepper.ended) != 1 || len(r.vain) != 1 {
		t.Errorf("%v; ended: %v", err, stepper.ended)
	}
	r.end(t.Context())
	if !slices.Equal(stepper.at, []int{2, 0}) || !slices.Equal(stepper.ended, []int{0, 0}) {
		t.Errorf("begun at servers %v, ended by way of %v", stepper.at, stepper.ended)
	}
}

// deaf is a stepper to which no event comes.
type deaf struct{ Stepper }

func (deaf) PassEvent(context.Context) (string, error) { return "", errors.New("nothing came") }

// An event that does not come is missed if the session has ended: then it is worth another try.
func TestMissed(t *testing.T) {
	for _, over := range []bool{false, true} {
		r := &replayer{}
		p := &incarnation{replayer: r, stepper: deaf{}, over: over}
		if err := p.event(t.Context(), world.Step{}); err == nil || r.missed != over {
			t.Errorf("over %v: missed %v, %v", over, r.missed, err)
		}
	}
}

// What is left behind in the simulation is left behind on real servers under another session's, or another random, name.
func TestOrphan(t *testing.T) {
	v := &sim.Violation{Property: "orphan", Paths: []string{world.Root0 + "/lock/x-72057594037927937-0000000001"}}
	for below, want := range map[string]bool{
		"/lock/x-216174016732135426-0000000001": true, "/lock/x-72057594037927937-0000000002": false,
		"/other/x-72057594037927937-0000000001": false,
	} {
		if got := orphan(v, below); got != want {
			t.Errorf("%s: %v", below, got)
		}
	}
	if v.Property = "exclusion"; orphan(v, "/lock/x-72057594037927937-0000000001") || orphan(nil, "/lock") {
		t.Error("nothing is left behind there")
	}
}
