package linearizability

import (
	"testing"
	"time"

	"github.com/zktorture/zktorture/internal/cputime"
)

// An explanation ends when time is up, also where it is not a search.
func TestExplanationKeepsToTheTime(t *testing.T) {
	m := DoubleBarrier(2)
	steps := m.steps(inStep(5, 300))
	j := newJudge(&m, Options{Timeout: time.Nanosecond})
	begin := cputime.Spent()
	if f := explainDoubleBarrier(j, steps, 2); f.property != "linearizability" || len(f.steps) != len(steps) {
		t.Errorf("there was no time, but %s was found", f.property)
	}
	if took := cputime.Spent() - begin; took > time.Second {
		t.Errorf("it took %v", took)
	}
}
