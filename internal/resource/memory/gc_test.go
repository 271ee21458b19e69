package memory

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/zktorture/zktorture/internal/testkit"
)

var kept []byte

// What is expected is allocated without a collection, and after the next one all is as before.
func TestExpectHeap(t *testing.T) {
	t.Setenv("GOGC", "")
	defer debug.SetGCPercent(debug.SetGCPercent(percent))
	ExpectHeap(64 << 20)
	before := collections()
	kept = make([]byte, 64<<20)
	for range 100 {
		kept = append(kept[:0:0], make([]byte, 1<<20)...)
	}
	if after := collections(); after != before {
		t.Errorf("there were %d collections", after-before)
	}
	for deadline := testkit.Deadline(); ; runtime.GC() {
		if now := debug.SetGCPercent(percent); now == percent {
			return
		} else if debug.SetGCPercent(now); time.Now().After(deadline) {
			t.Fatalf("GOGC is %d", now)
		}
	}
}

func collections() uint32 {
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return memory.NumGC
}
