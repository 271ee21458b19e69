package workload

import (
	"testing"

	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
)

// A kind of one's own says itself what to do about what it promises; its judge may know better, and no other kind speaks for
// it.
func TestHelpOfAKindOfOnesOwn(t *testing.T) {
	before := kinds
	defer func() { kinds = before }()
	kinds = append(kinds, &Kind{Name: "clock", Promises: []Promise{
		{Names: []string{"exclusion"}, Help: "take turns"}, {Names: []string{"missing"}},
	}})
	j := Judgement{Judgement: world.Judgement{Violations: []sim.Violation{
		{Property: "exclusion"}, {Property: "exclusion", Help: "look at c1"}, {Property: "missing"}, {Property: "ghost"},
	}}}
	j.advise("clock")
	for i, want := range []string{"take turns", "look at c1", "", ""} {
		if got := j.Violations[i]; got.Help != want {
			t.Errorf("%s: help %q, want %q", got.Property, got.Help, want)
		}
	}
}
