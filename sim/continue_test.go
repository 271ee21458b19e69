package sim_test

import (
	"context"
	"errors"
	"math/bits"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/replay"
	"github.com/zktorture/zktorture/sim/world"
)

// lostWakeup is a counterexample of the published lock, with its replay.
func lostWakeup(t *testing.T) (sim.Workload, *sim.Counterexample, *sim.Replayed) {
	t.Helper()
	w := find(t, "lock", "broken")
	cfg := sim.Config{Episodes: 60, Seed: 2, NoFaultsAtAll: true, Until: "lost-wakeup"}
	result := run(t, w, cfg)
	if len(result.Violations) != 1 {
		t.Fatalf("found %d violations, want the lost wake-up", len(result.Violations))
	}
	c, err := cfg.Counterexample(result, result.Violations[0])
	if err != nil {
		t.Fatal(err)
	}
	r, err := sim.Replay(w, c)
	if err != nil || r.Diverged >= 0 {
		t.Fatalf("the replay: %v, diverged %d", err, r.Diverged)
	}
	return w, c, r
}

// A continuation is the counterexample up to its step, line by line.
func TestContinuationsBeginAlike(t *testing.T) {
	w, c, r := lostWakeup(t)
	cfg := sim.Config{NoFaultsAtAll: true, Clients: c.Clients, Ops: c.Ops}
	for step := range r.Record.Marks {
		for i := range 3 {
			one := sim.RunOne(w, cfg, sim.Fork(r, step, i))
			if d := cmp.Diff(upTo(step, r.Trace), upTo(step, one.Trace)); d != "" {
				t.Fatalf("continuation %d from step %d begins otherwise (-counterexample, +continuation):\n%s",
					i, step, d)
			}
		}
	}
}

func upTo(step int, trace []world.Step) []string {
	end := slices.IndexFunc(trace, func(s world.Step) bool { return s.N > step })
	if end < 0 {
		end = len(trace)
	}
	return replay.Lines(trace[:end])
}

// The curve says what the runs say, is the same at any GOMAXPROCS, and ends in the violation: after the
// last step of a run without faults nothing is left to chance.
func TestContinuationsCount(t *testing.T) {
	w, c, r := lostWakeup(t)
	const runs = 12
	var curves [2][]replay.Continuation
	for i, procs := range []int{1, 4} {
		was := runtime.GOMAXPROCS(procs)
		curve, err := replay.Continuations(t.Context(), w, c, r, runs)
		runtime.GOMAXPROCS(was)
		if err != nil {
			t.Fatal(err)
		}
		curves[i] = curve
	}
	if d := cmp.Diff(curves[0], curves[1]); d != "" {
		t.Errorf("the curve differs at GOMAXPROCS 4:\n%s", d)
	}
	if d := cmp.Diff(countAlone(w, c, r, runs), curves[0]); d != "" {
		t.Errorf("runs one by one count otherwise (-alone, +together):\n%s", d)
	}
	first, last := curves[0][0], curves[0][len(curves[0])-1]
	if first.Broken == runs || last.Broken != runs || last.Step != r.Record.Tortured {
		t.Errorf("the curve goes from %+v to %+v of %d steps", first, last, r.Record.Tortured)
	}
}

// countAlone is the reference: every continuation as an episode of its own.
func countAlone(w sim.Workload, c *sim.Counterexample, r *sim.Replayed, runs int) (points []replay.Continuation) {
	cfg := sim.Config{NoFaultsAtAll: true, Clients: c.Clients, Ops: c.Ops}
	for step := range r.Record.Marks {
		p := replay.Continuation{Step: step, Runs: runs}
		for i := range runs {
			one := sim.RunOne(w, cfg, sim.Fork(r, step, i))
			if slices.ContainsFunc(one.Violations, func(v sim.Violation) bool { return v.Property == c.Property }) {
				p.Broken++
			}
		}
		points = append(points, p)
	}
	return points
}

func TestContinuationsOfNothing(t *testing.T) {
	w, c, r := lostWakeup(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := replay.Continuations(ctx, w, c, r, 100); !errors.Is(err, context.Canceled) {
		t.Errorf("of a context that has ended: %v", err)
	}
	r.Violation = nil
	if _, err := replay.Continuations(t.Context(), w, c, r, 100); !errors.Is(err, sim.ErrConfig) {
		t.Errorf("of a run in which nothing broke: %v", err)
	}
}

// Every line of a trace says as facts what it says in words.
func TestDetails(t *testing.T) {
	seen := map[world.Kind]int{}
	for seed := range uint64(60) {
		for _, kind := range []string{"lock", "queue"} {
			one := sim.RunOne(find(t, kind, ""), sim.Config{}, sim.NewRandomSource(7, seed))
			for _, step := range one.Trace {
				seen[step.Kind]++
				if problem := detailProblem(step); problem != "" {
					t.Fatalf("%s, seed %d: %s: %v %+v", kind, seed, problem, step, step.Detail)
				}
			}
		}
	}
	for _, kind := range []world.Kind{
		world.KindCall, world.KindReturn, world.KindRequest, world.KindExchange, world.KindReply, world.KindWatch, world.KindClosed,
		world.KindConnect, world.KindFault, world.KindHealed, world.KindTime, world.KindShared,
	} {
		if seen[kind] == 0 {
			t.Errorf("no line of kind %s", kind)
		}
	}
}

func detailProblem(s world.Step) string {
	request := s.Kind == world.KindRequest || s.Kind == world.KindExchange
	switch {
	case s.Client < 0 && (s.Server >= 0 || s.Session != 0):
		return "the world has a session"
	case s.Server >= 0 && s.Session == 0:
		return "connected without a session"
	case (request || s.Kind == world.KindFails || s.Lost == world.LostRequest || s.Lost == world.LostReply) != (s.Request != ""):
		return "a request without a name, or a name without a request"
	case request && s.Path == "" && s.Request != "close":
		return "a request without a path"
	case s.Failed() != strings.HasPrefix(s.Result, "zk: "), (s.Made != "") != strings.HasPrefix(s.Result, "-> "):
		return "an answer that is in words only"
	case (s.Kind == world.KindFault || s.Kind == world.KindHealed) != (bits.OnesCount16(uint16(s.Fault)) == 1):
		return "a fault without a name, or a name without a fault"
	case s.Kind == world.KindFault && s.Event != "! "+s.Fault.String() ||
		s.Kind == world.KindHealed && s.Event != s.Fault.String():
		return "a fault of another name"
	case (s.Kind == world.KindConnect) != (s.Dialled != ""):
		return "nothing came of dialling"
	case s.Dialled == world.DialledRefused && s.Server >= 0, s.Dialled == world.DialledExpired && s.Session != 0:
		return "something else came of dialling"
	case (s.Kind == world.KindWatch || s.Lost == world.LostEvent) != (s.Type != 0):
		return "an event without a type"
	case request && (s.Sent > s.N || s.Server < 0 && s.Kind == world.KindExchange && s.Request != "close"):
		return "a request that is answered before it is sent, or by nobody"
	case s.Kind == world.KindWatch && s.Zxid == 0:
		return "an event without a transaction"
	case (s.Kind == world.KindCall || s.Kind == world.KindReturn) && s.Op == 0:
		return "a call of nothing"
	}
	return ""
}
