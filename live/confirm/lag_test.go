package confirm

import (
	"context"
	"slices"
	"testing"

	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
)

// pretended are followers that note at which transaction they are held.
type pretended struct {
	last  int64
	at    [3]int64
	freed [3]int
}

func (p *pretended) Committed(context.Context) (int64, error) { return p.last, nil }

func (p *pretended) Hold(_ context.Context, server int, zxid int64) error {
	p.at[server] = zxid
	return nil
}

func (p *pretended) Free(server int) { p.freed[server]++ }

// Followers that are dialled are held as far behind as they are in the simulation. They cannot go back. One that has to
// apply what was asked for there is free until it is held again.
func TestFollowersAreHeld(t *testing.T) {
	p := &pretended{}
	l := &relay{held: held{Followers: p}}
	for _, server := range []int{1, 2, 0, 1} {
		l.add(server)
	}
	for _, step := range []struct {
		last   int64 // the leader's transaction
		behind []int
		want   [3]int64
	}{
		{10, []int{0, 0, 3}, [3]int64{0, 10, 7}},
		{14, []int{0, 2, 7}, [3]int64{0, 12, 7}},
		{14, []int{0, 9, 9}, [3]int64{0, 12, 7}},
		{16, []int{0, 0, 0}, [3]int64{0, 16, 16}},
	} {
		p.last = step.last
		if err := l.follow(t.Context(), step.behind); err != nil || p.at != step.want {
			t.Errorf("after transaction %d, %v behind, servers are held at %v, want %v: %v", step.last, step.behind, p.at, step.want, err)
		}
	}
	for _, changes := range []bool{false, true} {
		if err := l.through(2, changes, func() error { p.last++; return nil }); err != nil || (p.freed[2] == 1) != changes {
			t.Errorf("changes %v: freed %v, %v", changes, p.freed, err)
		}
	}
	if err := l.follow(t.Context(), []int{0, 0, 1}); err != nil || p.at != [3]int64{0, 18, 17} {
		t.Error(p.at, err)
	}
	if l.freeAll(); p.freed != [3]int{0, 1, 2} {
		t.Error(p.freed)
	}
}

// A session is ended by way of a server that its client is not connected to, and that does not lag.
func TestSessionsEndElsewhere(t *testing.T) {
	for _, tc := range []struct {
		lag    []int // servers
		client int
		want   []int
	}{
		{nil, 0, []int{1, 2}}, {nil, 1, []int{0, 2}}, {[]int{1}, 0, []int{2}}, {[]int{1, 2}, 1, []int{0}}, {[]int{1, 2}, 0, nil},
	} {
		l := &relay{cfg: Config{Servers: make([]string, 3)}, held: held{Followers: &pretended{}}}
		for _, server := range tc.lag {
			l.add(server).lags = true
		}
		if got := l.others(tc.client); !slices.Equal(got, tc.want) {
			t.Errorf("%v lag, of a client of %d: %v, want %v", tc.lag, tc.client, got, tc.want)
		}
	}
}

// Without followers that can be held a trace with lag is not tried.
func TestLagIsNotTried(t *testing.T) {
	r := &sim.Replayed{Record: &world.Record{}, Trace: []world.Step{
		{N: 4, Client: -1, Event: "! lag", Detail: world.Detail{Kind: world.KindFault, Fault: world.Lag, Server: -1, Late: 1}},
	}}
	if got, want := unconfirmable(r, Config{}), "step 4: these servers cannot be made to lag"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := unconfirmable(r, Config{Followers: &pretended{}}); got != "" {
		t.Error(got)
	}
}
