package zoocmd

import (
	"slices"
	"testing"

	"github.com/zktorture/zktorture/cmd/internal/cli"
	"github.com/zktorture/zktorture/fakezk/wire"
	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/live/confirm"
	"github.com/zktorture/zktorture/live/ensemble/ensembletest"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
	"github.com/zktorture/zktorture/zoo"
)

// Counterexamples of each kind are confirmed on real servers: a session that expires, a process that crashes, a client that
// starts without a connection, a connection that breaks under kazoo's watches, a watch left behind, an object that two users
// share, servers that lag from the start or from a request on, or apply one transaction at a time, a request that the client
// refuses, callers that time out late, a late retry, a client that waits for all others, goroutines that stand still, and a
// znode left where none was ever removed. What was not said is refused: the same with deletes of a wrong version.
func TestConfirm(t *testing.T) {
	t.Parallel()
	ensembletest.Need(t)
	e, err := confirm.StartServers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer e.Stop()
	hunter := zoo.NewHunter(zoo.HuntConfig{Seed: 1, Episodes: 20000, SkipTwin: true})
	all := []string{"L6", "W18", "W16", "DQ7", "W7", "SP10", "L5", "LK4", "W8", "L20", "W9", "L12", "B4", "DQ4", "DQ10", "T2"}
	refused := 0
	for _, id := range testkit.Sized(all[:5], all) {
		animals, err := zoo.Find([]string{id})
		if err != nil {
			t.Fatal(err)
		}
		catch, err := hunter.Hunt(t.Context(), animals[0])
		if err != nil || catch.Found == nil {
			t.Fatalf("%s is not found: %v, %s", id, err, catch.Problem)
		}
		w := animals[0].Broken()
		example, replayed, err := replayCatch(w, animals[0], *catch.Found)
		if err != nil {
			t.Fatal(err)
		}
		confirmed, err := confirm.On(t.Context(), e, w, example, replayed)
		if err != nil || confirmation(animals[0], confirmed) != "confirmed"+cli.Tries(confirmed) {
			t.Errorf("%s: %+v, %v", id, confirmed, err)
		}
		if !deleteWrongly(replayed.Record.Talk) {
			continue
		}
		confirmed, err = confirm.On(t.Context(), e, w, example, replayed)
		if err != nil || confirmed.Violation != nil || confirmed.Difference == "" {
			t.Errorf("%s, with deletes of a wrong version: %+v, %v", id, confirmed, err)
		}
		refused++
	}
	if refused < 2 {
		t.Errorf("only %d of them delete anything", refused)
	}
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
	ensembletest.Need(t)
	animals, err := zoo.Find([]string{"DQ4"})
	if err != nil {
		t.Fatal(err)
	}
	w := animals[0].Broken()
	example, replayed := answerLost(t, w, animals[0].Property)
	e, err := confirm.StartServers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer e.Stop()
	confirmed, err := confirm.On(t.Context(), e, w, example, replayed)
	if err != nil {
		t.Fatal(err)
	}
	if got := confirmation(animals[0], confirmed); got != "confirmed"+cli.Tries(confirmed) {
		t.Error(got)
	}
}

// answerLost finds a counterexample in which the answer to a connect is lost.
func answerLost(t *testing.T, w *workload.Workload, property string) (*sim.Counterexample, *sim.Replayed) {
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
			replayed, err := sim.Replay(w, example)
			if err != nil {
				t.Fatal(err)
			}
			return example, replayed
		}
	}
	t.Fatal("not found")
	return nil, nil
}

// A confirmation that took several tries says so.
func TestConfirmationSaysTries(t *testing.T) {
	v := &sim.Violation{}
	for _, tc := range []struct {
		confirmed confirm.Confirmation
		want      string
	}{
		{confirm.Confirmation{Violation: v, Tries: 1}, "confirmed"},
		{confirm.Confirmation{Violation: v, Tries: 3}, "confirmed at try 3"},
		{confirm.Confirmation{Tries: 3, Step: 4, Difference: "a get"}, "not confirmed: step 4 differed: a get"},
	} {
		if got := confirmation(zoo.Animal{}, &tc.confirmed); got != tc.want {
			t.Errorf("%q, want %q", got, tc.want)
		}
	}
}
