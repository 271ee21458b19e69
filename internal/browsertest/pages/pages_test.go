// Package pages_test opens the pages of stories and of their index in a browser.
package pages_test

import (
	"testing"

	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/story"
	"github.com/zktorture/zktorture/zoo"
)

// caught is an animal's counterexample.
func caught(t *testing.T, id string) (zoo.Animal, *sim.Counterexample) {
	t.Helper()
	animals, err := zoo.Find([]string{id})
	if err != nil {
		t.Fatal(err)
	}
	a := animals[0]
	catch, err := zoo.NewHunter(zoo.HuntConfig{Seed: 1, SkipTwin: true, Workers: 1}).Hunt(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	if catch.Found == nil {
		t.Fatalf("%s got away: %s", id, catch.Problem)
	}
	cfg := sim.Config{NoFaultsAtAll: true, Clients: a.Clients, Faults: a.Faults()}
	w := a.Broken()
	c, err := cfg.Counterexample(sim.Result{Workload: w.Name(), Recipe: w.Recipe()}, *catch.Found)
	if err != nil {
		t.Fatal(err)
	}
	return a, c
}

func told(t *testing.T, a zoo.Animal, c *sim.Counterexample) *story.Story {
	t.Helper()
	s, err := story.Tell(t.Context(), a.Broken(), c)
	if err != nil {
		t.Fatalf("%s: %v", a.ID, err)
	}
	s.Commands = []story.Command{{Name: "replay", Line: "torture replay " + a.ID + ".json"}}
	return s
}
