package main

import (
	"testing"

	"github.com/zktorture/zktorture/workload"
)

// Counterexamples of each kind are confirmed on real servers, step by step: a session that expires, a process that crashes,
// one that begins without a connection, a connection that breaks under the watches of kazoo, a watch that is left, and an
// object that two users share.
func TestConfirm(t *testing.T) {
	if testing.Short() {
		t.Skip("starts real ZooKeeper servers")
	}
	e, err := startStage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Stop() })
	hunter := workload.NewHunter(workload.HuntConfig{Seed: 1, Episodes: 20000, SkipTwin: true})
	for _, id := range []string{"W7", "W18", "SP10", "L5", "LK4", "W16"} {
		t.Run(id, func(t *testing.T) {
			animals, err := workload.FindAnimals([]string{id})
			if err != nil {
				t.Fatal(err)
			}
			catch, err := hunter.Hunt(t.Context(), animals[0])
			if err != nil || catch.Found == nil {
				t.Fatalf("not found: %v, %s", err, catch.Problem)
			}
			if catch.Confirmed, err = confirmCatch(t.Context(), e, animals[0], *catch.Found); err != nil {
				t.Fatal(err)
			}
			if got := confirmation(catch); got != "confirmed" {
				t.Error(got)
			}
		})
	}
}
