package live

import (
	"context"
	"testing"

	"github.com/zktorture/zktorture/fakezk/wire/strike"
	"github.com/zktorture/zktorture/workload"
)

func unopened(context.Context) (*Session, error) { panic("a session is opened") }

// What is drawn for a run is nothing but what may strike, and all of it: processes only where clients have some.
func TestDraws(t *testing.T) {
	w, err := workload.Find("lock", workload.Ours)
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{Open: unopened, Start: unopened, Seed: 3, Clients: 3, Ops: 3, Nodes: 3, Faults: ClientFaults | ProcessFaults}
	for _, want := range []strike.Set{cfg.Faults, ClientFaults} {
		if want == ClientFaults {
			cfg.Start = nil
		}
		r, err := newLiveRun(w, cfg.withDefaults())
		if err != nil {
			t.Fatal(err)
		}
		drawn := strike.Set(0)
		for n := range int64(200) {
			for _, f := range r.draw(n).faults {
				drawn |= strike.SetOf(f.Fault)
				if f.Round != int(n) || ProcessFaults.Has(f.Fault) && n%4 != 3 {
					t.Errorf("round %d: %v", n, f)
				}
			}
		}
		if drawn != want {
			t.Errorf("these are drawn: %v, want %v", drawn, want)
		}
	}
}

// A round has processes of its own if its number says so.
func TestRoundsApart(t *testing.T) {
	for _, cfg := range []Config{{Open: unopened}, {Start: unopened}, {Open: unopened, Start: unopened}} {
		r := &liveRun{cfg: cfg.withDefaults(), numbers: map[bool]int64{}}
		seen := map[int64]bool{}
		for i := range 200 {
			ownProcess := cfg.Open == nil || cfg.Start != nil && i%2 == 0
			n, _ := r.number(ownProcess)
			if seen[n] || r.cfg.ownProcess(n) != ownProcess {
				t.Errorf("round %d: ownProcess is %v, and it was there before: %v", n, r.cfg.ownProcess(n), seen[n])
			}
			seen[n] = true
		}
	}
}
