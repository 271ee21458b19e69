package linearizability

import (
	"testing"
	"time"

	"github.com/zktorture/zktorture/internal/resource"
)

// An explanation ends when time is up, also where it is not a search.
func TestExplanationKeepsToTheTime(t *testing.T) {
	m := DoubleBarrier(2)
	steps := m.steps(inStep(5, 300))
	j := newJudge(&m, Options{Timeout: time.Nanosecond})
	begin := resource.CPUTime()
	if f := explainDoubleBarrier(j, steps, 2); f.Property != "linearizability" || len(f.Steps) != len(steps) {
		t.Errorf("there was no time, but %s was found", f.Property)
	}
	if took := resource.CPUTime() - begin; took > time.Second {
		t.Errorf("it took %v", took)
	}
}
