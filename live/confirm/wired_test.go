package confirm

import (
	"context"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/fakezk/wire"
	"github.com/zktorture/zktorture/sim/world"
)

// asking is a stepper whose client asks for the data of a znode, and which notes that it was cut.
type asking struct {
	Stepper
	p    *incarnation
	cuts int
}

func (*asking) Request(context.Context) (op wire.Op, path string, err error) {
	return wire.OpGetData, "/t/lock/x-0000000001", nil
}

func (a *asking) Cut() {
	a.cuts++
	a.p.connected = false
}

// wired is a client over the wire with so many users.
func wired(users int) (*replayer, *asking) {
	r := &replayer{wired: true, changed: make(chan struct{})}
	p := &incarnation{replayer: r, connected: true}
	for i := range users {
		p.users = append(p.users, &replayedUser{via: &replayedConn{incarnation: p, user: i}})
	}
	r.incarnations = []*incarnation{p}
	a := &asking{p: p}
	p.stepper = a
	return r, a
}

// The next request over the wire has to be that of the trace. If several users share the connection another order is
// worth another try.
func TestSends(t *testing.T) {
	of := func(request, path string) world.Step {
		return world.Step{Path: path, At: 7, Detail: world.Detail{Kind: world.KindExchange, Request: request}}
	}
	for users := 1; users <= 2; users++ {
		r, a := wired(users)
		w, err := a.p.sends(t.Context(), of("get", "/t/lock/y-0000000001"))
		if err != nil || w.op != "get" || a.p.users[0].via.wentOn != 7 {
			t.Errorf("%v, %v, went on at %v", w, err, a.p.users[0].via.wentOn)
		}
		for _, s := range []world.Step{of("exists", "/t/lock/y-0000000001"), of("get", "/t/lock/y-0000000002")} {
			if _, err := a.p.sends(t.Context(), s); err == nil || !strings.Contains(err.Error(), "asks for get /t/lock/x") {
				t.Error(err)
			}
		}
		if r.missed != (users > 1) {
			t.Errorf("%d users: missed %v", users, r.missed)
		}
	}
}

// A step goes on when what was on its way in it has come: the first request of each client.
func TestAwaitSent(t *testing.T) {
	r, a := wired(1)
	r.trace = []world.Step{{N: 3, Detail: world.Detail{Kind: world.KindExchange, Request: "delete"}}}
	if err := a.p.awaitSent(t.Context(), 2); err != nil {
		t.Errorf("it was sent later: %v", err)
	}
	r.expected = []int{0}
	if err := a.p.awaitSent(t.Context(), 2); err == nil {
		t.Error("another request has come, and nobody noticed")
	}
	r.trace[0].Request = "get"
	if err := a.p.awaitSent(t.Context(), 2); err != nil {
		t.Error(err)
	}
}

// A client loses the connection that it closes by itself once: after what arrives in that step.
func TestHangUp(t *testing.T) {
	r, a := wired(1)
	r.hungUp = map[int][]int{5: {0}}
	step := func(n int, kind world.Kind) world.Step { return world.Step{N: n, Detail: world.Detail{Kind: kind}} }
	for i, s := range []world.Step{step(4, world.KindTime), step(5, world.KindRequest), step(5, world.KindReturn), step(5, world.KindReturn)} {
		if err := a.p.hangUp(t.Context(), s); err != nil || (a.cuts > 0) != (i >= 2) || a.cuts > 1 {
			t.Errorf("line %d: cut %d times, %v", i, a.cuts, err)
		}
	}
}

// Code stays in its simulated world if it opens another connection while the session of its first lasts, or cannot reach any
// server.
func TestTakesWorld(t *testing.T) {
	at := func(n int, session int64, d world.Detail) world.Step {
		d.Session = session
		return world.Step{N: n, Detail: d}
	}
	opens := world.Detail{Kind: world.KindConnect, Dialled: world.DialledNew}
	for between, takes := range map[*world.Detail]bool{
		{Kind: world.KindConnect, Dialled: world.DialledResumed}: true,
		{Kind: world.KindConnect, Dialled: world.DialledExpired}: false,
		{Kind: world.KindFault, Fault: world.Crash}:              false,
		{Kind: world.KindFault, Unsent: true}:                    true,
	} {
		if got := takesWorld([]world.Step{at(1, 7, opens), at(2, 7, *between), at(3, 8, opens)}); got != takes {
			t.Errorf("%+v: %v", *between, got)
		}
	}
}
