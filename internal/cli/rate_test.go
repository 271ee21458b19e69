package cli

import (
	"testing"
	"time"

	"github.com/zktorture/zktorture/internal/cli/reach"
)

func TestPace(t *testing.T) {
	for rate, want := range map[float64]int{0: 8, 1: 1, 60: 1, 100: 2, 1e6: 8} {
		if got := workers(rate); got != want {
			t.Errorf("%d workers at %g requests a second, want %d", got, rate, want)
		}
	}
	if a, b := patience(0), patience(10); a != patienceMin || b != 11*patienceMin {
		t.Errorf("patience is %v, and %v at 10 requests a second", a, b)
	}
}

// Requests are delayed as far as the rate demands, and not at all without one.
func TestPaceHoldsBack(t *testing.T) {
	const requests = 21
	turn := inTurn(pace(1000), reach.NewRunMetrics().Observe)
	began := time.Now()
	for range requests {
		turn("get", "/", func() error { return nil })
	}
	if took := time.Since(began); took < (requests-2)*time.Millisecond {
		t.Errorf("%d requests at 1000 a second took %v", requests, took)
	}
}
