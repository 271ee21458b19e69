package prove_test

import (
	"context"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/internal/bound"
	"github.com/zktorture/zktorture/sim/tally"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// A search that remembers what steps do comes to the same states and ends as one that runs each step, in whatever order it
// takes them.
func TestWhatIsRememberedIsWhatIsRun(t *testing.T) {
	testkit.ManyWorlds(t)
	saved, compared := 0, 0
	for kind, clients := range map[string]int{"counter": 2, "barrier": 2, "lock": 2, "doublebarrier": 2, "queue": 2} {
		w, err := workload.Find(kind, workload.Ours)
		if err != nil {
			t.Fatal(err)
		}
		for f := range (world.EveryFault | world.NoFaults).Each() {
			for _, plain := range []bool{true, false} {
				cfg := sim.Config{Strategy: sim.Exhaustive, Clients: clients, Ops: 1, Faults: f, NoFaultsAtAll: true, AtMost: 1,
					Plain: plain, Episodes: testkit.Sized(800, 20_000)}
				search := func() tally.Extent {
					r, err := sim.Run(t.Context(), w, cfg)
					if err != nil || r.Verdict == sim.VerdictViolation || strings.Contains(r.Extent.Reason, "contradicts") {
						t.Fatal(kind, f, r.Violations, r.Extent, err)
					}
					return r.Extent
				}
				remembered := search()
				if remembered.Word != tally.Complete {
					continue
				}
				cfg.Without = bound.ReduceRuns
				run := search()
				if run.Word != tally.Complete {
					continue
				}
				cfg.Without, cfg.Backwards = 0, true
				for _, x := range []tally.Extent{remembered, search()} {
					if x.Word != run.Word || x.Digest != run.Digest || x.States != run.States || x.Ends != run.Ends {
						t.Errorf("%s, %v, plain %v: run %v, digest %x; remembered %v, %x", kind, f, plain, run, run.Digest, x, x.Digest)
					}
				}
				compared++
				saved += run.Runs - remembered.Runs
			}
		}
	}
	if compared < testkit.Sized(30, 60) || saved < testkit.Sized(1_500, 20_000) {
		t.Errorf("%d searches were compared, of which %d runs were saved", compared, saved)
	}
}

// What one fault leaves for another is in the part of the state of whom it concerns: whose watches are on what, for when
// servers become alike; what lies with a goroutine that is stalled; which servers have clients; and whether any client can
// act, else a deposed leader does not notice.
func TestTwoFaultsContradictNothing(t *testing.T) {
	testkit.ManyWorlds(t)
	for _, of := range []struct {
		kind   string
		faults world.Faults
	}{
		{"lock", world.Expiry | world.Lag},
		{"lock", world.Expiry | world.Stall},
		{"lock", world.Lag | world.Deposed},
	} {
		w, err := workload.Find(of.kind, workload.Ours)
		if err != nil {
			t.Fatal(err)
		}
		cfg := sim.Config{Strategy: sim.Exhaustive, Faults: of.faults, AtMost: 2, Plain: true, Episodes: testkit.Sized(3_000, 30_000)}
		if r, err := sim.Run(t.Context(), w, cfg); err != nil || r.Extent.Runs < cfg.Episodes {
			t.Errorf("%s, %v: %v, %v", of.kind, of.faults, r.Extent, err)
		}
	}
}

// A search that is stopped says from how many of its states it has not gone on: some, and at its end none.
func TestAStoppedSearchSaysWhatWaits(t *testing.T) {
	w, err := workload.Find("counter", workload.Ours)
	if err != nil {
		t.Fatal(err)
	}
	cfg := sim.Config{Strategy: sim.Exhaustive, Faults: world.Loss, AtMost: 1, Plain: true}
	for _, cfg.Episodes = range []int{100, 0} {
		r, err := sim.Run(t.Context(), w, cfg)
		stopped, waits := cfg.Episodes > 0, r.Extent.Waiting > 0 && r.Extent.Waiting < r.Extent.States
		if err != nil || (r.Extent.Word == tally.Bounded) != stopped || waits != stopped {
			t.Errorf("%v, %v, %v", r.Extent, r.Extent.Waiting, err)
		}
	}
}

// A search that is interrupted says that, and not that its time was over.
func TestAnInterruptedSearchSaysSo(t *testing.T) {
	w, err := workload.Find("lock", workload.Ours)
	if err != nil {
		t.Fatal(err)
	}
	ctx, interrupt := context.WithCancel(t.Context())
	cfg := sim.Config{Strategy: sim.Exhaustive, Clients: 3, Ops: 1, Plain: true, Progress: func(sim.Progress) { interrupt() }}
	r, err := sim.Run(ctx, w, cfg)
	if err != nil || !strings.HasPrefix(r.Extent.Reason, "it was interrupted after ") {
		t.Errorf("%v, %v", r.Extent, err)
	}
}

// A run goes on where all is known, and most come to an end that no run has come to.
func TestRunsGoOnToEnds(t *testing.T) {
	w, err := workload.Find("counter", workload.Ours)
	if err != nil {
		t.Fatal(err)
	}
	cfg := sim.Config{Strategy: sim.Exhaustive, Faults: world.Quorum, AtMost: 1, Plain: true}
	r, err := sim.Run(t.Context(), w, cfg)
	if err != nil || r.Extent.Word != tally.Complete || r.Extent.Runs > 3*r.Extent.Ends {
		t.Error(r.Extent, err)
	}
}
