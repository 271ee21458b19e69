package resource

import (
	"testing"
	"time"
)

// A limit is reached when both clocks have passed it, and not while this process only waits.
func TestLimit(t *testing.T) {
	const d = 20 * time.Millisecond
	used, l := CPUTime(), Within(d)
	time.Sleep(2 * d)
	if early := l.Reached(); early && CPUTime()-used < d {
		t.Error("it is reached by waiting")
	}
	for CPUTime()-used <= 2*d {
	}
	if !l.Reached() {
		t.Error("it is not reached by work")
	}
	if (Limit{}).Reached() {
		t.Error("the zero limit is reached")
	}
}
