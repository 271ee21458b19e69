package zoo_test

import (
	"slices"
	"testing"

	"github.com/zktorture/zktorture/fakezk/wire"
	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/live/confirm"
	"github.com/zktorture/zktorture/live/ensemble"
	"github.com/zktorture/zktorture/live/ensemble/ensembletest"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
	"github.com/zktorture/zktorture/zoo"
)

// servers are three real ones.
func servers(t *testing.T) *ensemble.Ensemble {
	t.Helper()
	ensembletest.Need(t)
	e, err := confirm.StartServers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Stop() })
	return e
}

// Counterexamples are confirmed on real servers: of some known bugs with one seed, of all with five with
// ZKTORTURE_THOROUGH=all. None is contradicted; those that cannot be tried are named. What was not said is refused: the same
// with deletes of a wrong version.
func TestConfirm(t *testing.T) {
	t.Parallel()
	e := servers(t)
	bugs, err := zoo.Find(testkit.Sized([]string{"L6", "W18", "W16", "DQ7", "W7"}, nil))
	if err != nil {
		t.Fatal(err)
	}
	confirmed, refused := 0, 0
	for _, seed := range testkit.Sized([]uint64{1}, []uint64{1, 2, 3, 4, 5}) {
		hunter := zoo.NewHunter(zoo.HuntConfig{Seed: seed, SkipFixed: true})
		for _, b := range bugs {
			catch, err := hunter.Hunt(t.Context(), b)
			if err != nil || catch.Found == nil {
				t.Errorf("%s is not found with seed %d: %v, %s", b.ID, seed, err, catch.Problem)
				continue
			}
			example, err := catch.Counterexample()
			if err != nil {
				t.Fatal(err)
			}
			c, replayed := confirmOn(t, e, b.Broken(), example)
			if c.Untried != "" {
				t.Logf("%s, seed %d, is not tried: %s", b.ID, seed, c.Untried)
				continue
			}
			if c.Violation == nil {
				t.Errorf("%s, seed %d: step %d differs: %s", b.ID, seed, c.Step, c.Difference)
			}
			if confirmed++; !deleteWrongly(replayed.Record.Talk) {
				continue
			}
			changed, err := confirm.On(t.Context(), e, b.Broken(), example, replayed)
			if err != nil || changed.Violation != nil || changed.Difference == "" {
				t.Errorf("%s, with deletes of a wrong version: %+v, %v", b.ID, changed, err)
			}
			refused++
		}
	}
	t.Logf("%d confirmed, of which %d are refused with deletes of a wrong version", confirmed, refused)
	if refused < 2 {
		t.Errorf("only %d of them delete anything", refused)
	}
}

func confirmOn(t *testing.T, e *ensemble.Ensemble, w *workload.Workload, example *sim.Counterexample) (*confirm.Confirmation, *sim.Replayed) {
	t.Helper()
	replayed, err := sim.Replay(w, example)
	if err != nil {
		t.Fatal(err)
	}
	c, err := confirm.On(t.Context(), e, w, example, replayed)
	if err != nil {
		t.Fatal(err)
	}
	return c, replayed
}

// deleteWrongly gives deletes a wrong version. False: there is none that is answered with success.
func deleteWrongly(talk []world.Talk) (done bool) {
	for i, s := range talk {
		var asked wire.RequestHeader
		body, _ := wire.Parse(s.Frame, &asked)
		answered := slices.IndexFunc(talk[i:], func(r world.Talk) bool {
			var reply wire.ReplyHeader
			wire.Parse(r.Frame[min(4, len(r.Frame)):], &reply)
			return r.Kind == world.TalkReply && r.Conn == s.Conn && reply.Xid == asked.Xid && reply.Err == wire.CodeOK
		})
		if s.Kind != world.TalkRequest || asked.Op != wire.OpDelete || answered < 0 {
			continue
		}
		var what wire.PathVersionRequest
		wire.Parse(body, &what)
		what.Version = 7
		talk[i].Frame = wire.Append(wire.Append(nil, &asked), &what)
		done = true
	}
	return done
}

// A counterexample is confirmed in which the answer to a connect got lost. It is not minimised, as it would be without
// that.
func TestConfirmAnswersLost(t *testing.T) {
	e := servers(t)
	bugs, err := zoo.Find([]string{"DQ4"})
	if err != nil {
		t.Fatal(err)
	}
	w := bugs[0].Broken()
	c, _ := confirmOn(t, e, w, answerLost(t, w, bugs[0].Property))
	if c.Violation == nil {
		t.Errorf("%+v", c)
	}
}

// answerLost finds a counterexample in which the answer to a connect is lost.
func answerLost(t *testing.T, w *workload.Workload, property string) *sim.Counterexample {
	t.Helper()
	for seed := range uint64(1000) {
		cfg := sim.Config{Strategy: "random", Episodes: 100, Seed: seed, Faults: world.Loss | world.Expiry, NoShrink: true}
		result, err := sim.Run(t.Context(), w, cfg)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range result.Violations {
			vain := slices.IndexFunc(found.Trace, func(s world.Step) bool { return s.Vain != 0 && s.N <= found.Steps })
			// A real server that ends a session closes its connection at that moment: nothing is dropped there.
			dropped := slices.ContainsFunc(found.Trace, func(s world.Step) bool { return s.Dropped })
			if vain < 0 || dropped || found.Property != property {
				continue
			}
			example, err := cfg.Counterexample(result, found)
			if err != nil {
				t.Fatal(err)
			}
			return example
		}
	}
	t.Fatal("not found")
	return nil
}
