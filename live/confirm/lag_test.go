package confirm

import (
	"context"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
)

// pretended are followers that note at which transaction they are held.
type pretended struct {
	last  int64
	at    [simulatedServers]int64
	freed [simulatedServers]int
}

func (p *pretended) Committed(context.Context) (int64, error) { return p.last, nil }

func (p *pretended) Hold(_ context.Context, server int, zxid int64) error {
	p.at[server] = zxid
	return nil
}

func (p *pretended) Free(server int) { p.freed[server]++ }

// lagStage is a replayer with simulated followers, after a number of transactions.
func lagStage(t *testing.T, last int64, trace ...world.Step) (*replayer, *pretended) {
	t.Helper()
	p := &pretended{last: last}
	r := &replayer{trace: trace, held: held{Followers: p}}
	if err := r.holdAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r, p
}

// visit connects a client to a server.
func (r *replayer) visit(t *testing.T, server, step int) *incarnation {
	t.Helper()
	if err := r.meet(t.Context(), server, step); err != nil {
		t.Fatal(err)
	}
	p := &incarnation{replayer: r, server: server, connected: true}
	r.incarnations = append(r.incarnations, p)
	return p
}

// wantHeld makes transactions, and checks where servers are held then.
func (p *pretended) wantHeld(t *testing.T, r *replayer, more, first, second int64) {
	t.Helper()
	p.last += more
	if err := r.followAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	if p.at[1] != first || p.at[2] != second {
		t.Errorf("after transaction %d servers 1 and 2 are held at %d and %d, not at %d and %d", p.last, p.at[1],
			p.at[2], first, second)
	}
}

func falling(step, server, transactions int) world.Step {
	late := world.Late{Server: server, Transactions: transactions}
	return world.Step{N: step, Client: -1, Event: "! lag",
		Detail: world.Detail{Kind: world.KindFault, Fault: world.Lag, Server: -1, Late: late}}
}

func at(step, server int) world.Step {
	return world.Step{N: step, Detail: world.Detail{Server: server}}
}

// Followers are where they are in the trace: behind if that says so, and else at the last transaction while they have
// clients.
func TestFollowersOfATrace(t *testing.T) {
	behind := falling(5, 2, 3)
	r, p := lagStage(t, 10, at(2, 1), behind, at(5, 2), falling(9, 1, 0))
	p.wantHeld(t, r, 2, 10, 10) // nobody sees them
	r.visit(t, 1, 2)
	p.wantHeld(t, r, 2, 14, 10)
	for _, s := range []world.Step{behind, falling(5, 2, 13)} { // it cannot go back
		if err := r.world(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	r.visit(t, 2, 5)
	p.wantHeld(t, r, 1, 15, 11)
	if err := r.world(t.Context(), world.Step{N: 6, Client: -1, Event: "lag",
		Detail: world.Detail{Fault: world.Lag, Late: world.Late{Server: 2, Transactions: 3}}}); err != nil {
		t.Fatal(err)
	}
	p.wantHeld(t, r, 1, 16, 12)
	if err := r.through(t.Context(), 2, func() error { p.last++; return nil }); err != nil || p.freed[2] != 1 {
		t.Fatal(err, p.freed)
	}
	p.wantHeld(t, r, 1, 18, 17) // it had to apply what was asked for there, and lags on
	r.incarnations = nil
	if err := r.recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.wantHeld(t, r, 1, 19, 19)
	if r.freeAll(); p.freed != [simulatedServers]int{0, 1, 2} {
		t.Error(p.freed)
	}
}

// A session is ended by way of a server that its client is not connected to, and that does not lag.
func TestEnder(t *testing.T) {
	for _, tc := range []struct {
		trace        []world.Step
		client, want int
	}{
		{nil, 0, 1},
		{[]world.Step{at(1, 1)}, 0, 2},
		{[]world.Step{at(1, 1)}, 1, 0},
		{[]world.Step{at(1, 1), falling(1, 1, 0), at(1, 2)}, 0, 2},
		{[]world.Step{at(1, 1), at(1, 2), falling(1, 2, 1)}, 0, 1},
	} {
		r, _ := lagStage(t, 10, tc.trace...)
		for _, s := range tc.trace {
			if err := r.world(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := r.ender(&incarnation{server: tc.client}); got != tc.want || err != nil {
			t.Errorf("%v: of a client of %d by way of %d, want %d: %v", tc.trace, tc.client, got, tc.want, err)
		}
	}
	r, _ := lagStage(t, 10, at(1, 1), at(1, 2))
	for _, f := range r.all {
		f.lags = true
	}
	if _, err := r.ender(&incarnation{}); err == nil || !strings.Contains(err.Error(), "no other server") {
		t.Error(err)
	}
}

// A client whose server lags can go on reading there when its session has ended.
func TestExpireWhereItLags(t *testing.T) {
	r, _ := lagStage(t, 10, at(1, 1))
	for _, lags := range []bool{false, true} {
		r.all[0].lags = lags
		p := &incarnation{replayer: r, server: 1, stepper: &ended{}}
		if err := p.expire(t.Context()); err != nil || p.over == lags {
			t.Errorf("lag %v: over %v, %v", lags, p.over, err)
		}
	}
}

// ended is a stepper whose session can be ended.
type ended struct{ Stepper }

func (*ended) Expire(context.Context, ...int) error { return nil }

// Without followers that can be held a trace with lag is not tried.
func TestLagIsNotTried(t *testing.T) {
	r := &sim.Replayed{Record: &world.Record{}, Trace: []world.Step{falling(4, 1, 0)}}
	if got, want := unconfirmable(r, Config{}), "step 4: these servers cannot be made to lag"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := unconfirmable(r, Config{Followers: &pretended{}}); got != "" {
		t.Error(got)
	}
}
