package bubble

import (
	"context"
	"runtime/pprof"
	"testing"
	"testing/synctest"
)

// Each bubble has a number, also if the goroutine has labels, which tracebacks show after it in a campaign.
func TestBubblesAreNumbered(t *testing.T) {
	t.Setenv("GODEBUG", "tracebacklabels=1")
	seen := map[int]bool{0: true}
	for range 2 {
		synctest.Test(t, func(t *testing.T) {
			pprof.Do(t.Context(), pprof.Labels("what runs it again", "torture replay"), func(context.Context) {
				if n := Number(); seen[n] {
					t.Errorf("%d is not the number of this bubble alone", n)
				} else {
					seen[n] = true
				}
			})
		})
	}
	if n := Number(); n != 0 {
		t.Errorf("the number is %d outside of bubbles", n)
	}
}
