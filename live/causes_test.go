package live

import (
	"slices"
	"testing"

	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/workload"
)

// On real servers, where no story is smaller than another, causes come first all the same.
func TestRootOfALiveRun(t *testing.T) {
	r := liveRun{workload: &workload.Workload{}}
	for episode, property := range []string{"herd", "order", "exclusion"} {
		r.result.Violations = append(r.result.Violations,
			sim.Found{Violation: sim.Violation{Property: property}, Episode: episode})
	}
	found := r.finish(t.Context()).Violations
	if got := []string{found[0].Property, found[1].Property, found[2].Property}; !slices.Equal(got,
		[]string{"exclusion", "order", "herd"}) {
		t.Errorf("they come as %s", got)
	}
}
