package live

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/zktorture/zktorture/fakezk/wire/strike"
	"github.com/zktorture/zktorture/workload"
)

func unopened(context.Context) (*Session, error) { panic("a session is opened") }

// What is drawn is read again as it was written, and is nothing but what may strike: processes only where clients have
// some, and servers only while the run lasts.
func TestDrawPlan(t *testing.T) {
	w, err := workload.Find("lock", workload.Ours)
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{Open: unopened, Start: unopened, Seed: 3, Rounds: 200, Duration: time.Minute, Clients: 3, Ops: 3,
		Nodes:  3,
		Faults: ClientFaults | ProcessFaults | ServerFaults}
	plan, err := DrawPlan(w, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if set := plan.Faults(); set != cfg.Faults {
		t.Errorf("these are drawn: %v, want %v", set, cfg.Faults)
	}
	for n, faults := range plan.Rounds {
		for _, f := range faults {
			if process := ProcessFaults.Has(f.Fault); f.Round != n ||
				n >= cfg.Rounds || process && n%4 != 3 {
				t.Errorf("round %d: %v", n, f)
			}
		}
	}
	for _, f := range plan.Servers {
		if f.AtMS >= cfg.Duration.Milliseconds() {
			t.Errorf("%v, when all is over", f)
		}
	}
	var text bytes.Buffer
	if err := plan.Write(&text); err != nil {
		t.Fatal(err)
	}
	again, err := ReadFaultPlan(&text)
	if diff := cmp.Diff(plan, again, cmpopts.EquateEmpty()); diff != "" || err != nil {
		t.Error(diff, err)
	}
	cfg.Start = nil
	if plan, err = DrawPlan(w, cfg); err != nil || plan.Faults() != ClientFaults|ServerFaults {
		t.Errorf("without processes: %v, %v", plan.Faults(), err)
	}
	cfg.Faults = strike.SetOf(strike.Hold)
	if _, err := DrawPlan(w, cfg); err == nil {
		t.Error("torture proxy's faults strike there")
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
