package torturecli

import (
	"testing"

	"github.com/zktorture/zktorture/internal/ensembletest"
	"github.com/zktorture/zktorture/internal/reworded"
	"github.com/zktorture/zktorture/live/confirm"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/zoo"
)

// Counterexamples of each kind are confirmed on real servers, step by step: a session that expires, a process that
// crashes, one that begins without a connection, a connection that breaks under the watches of kazoo, a watch that is
// left, an object that two users share, servers that lag from the beginning, from a request on, and that apply one
// transaction after the other, a request that the client refuses, callers that give up after a long time, somebody who
// asks again after a long time, and one who waits for all others. And they are if the run in the simulation says
// everything in other words: it is its facts that are made to happen.
func TestConfirm(t *testing.T) {
	t.Parallel()
	ensembletest.Need(t)
	e, err := startStage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Stop() })
	hunter := zoo.NewHunter(zoo.HuntConfig{Seed: 1, Episodes: 20000, SkipTwin: true})
	for _, id := range []string{"W7", "W18", "SP10", "L5", "LK4", "W16", "W8", "L20", "DQ7", "W9", "L12",
		"B4", "DQ4", "DQ10"} {
		t.Run(id, func(t *testing.T) {
			animals, err := zoo.Find([]string{id})
			if err != nil {
				t.Fatal(err)
			}
			catch, err := hunter.Hunt(t.Context(), animals[0])
			if err != nil || catch.Found == nil {
				t.Fatalf("not found: %v, %s", err, catch.Problem)
			}
			confirmed, err := confirmCatch(t.Context(), e, animals[0], *catch.Found)
			if err != nil {
				t.Fatal(err)
			}
			if got := confirmation(animals[0], confirmed); got != "confirmed" {
				t.Error(got)
			}
			w := animals[0].Broken()
			example, replayed, err := replayCatch(w, animals[0], *catch.Found)
			if err != nil {
				t.Fatal(err)
			}
			if confirmed, err = confirmOn(t.Context(), e, w, example, reworded.Replay(replayed)); err != nil {
				t.Fatal(err)
			}
			if got := confirmation(animals[0], confirmed); got != "confirmed" {
				t.Errorf("in other words: %s", got)
			}
		})
	}
}

// What it took more than one try for says so.
func TestConfirmationSaysTries(t *testing.T) {
	v := &sim.Violation{}
	for _, tc := range []struct {
		confirmed confirm.Confirmation
		want      string
	}{
		{confirm.Confirmation{Violation: v, Tries: 1}, "confirmed"},
		{confirm.Confirmation{Violation: v, Tries: 3}, "confirmed at try 3"},
		{confirm.Confirmation{Violation: v, Tries: 2, Step: 4, Difference: "a get"},
			"confirmed at try 2, though step 4 was another: a get"},
	} {
		if got := confirmation(zoo.Animal{}, &tc.confirmed); got != tc.want {
			t.Errorf("%q, want %q", got, tc.want)
		}
	}
}
