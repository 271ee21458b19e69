package histories_test

import (
	"fmt"
	"sync/atomic"

	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/linearizability/histories"
)

// Calls of one's own are recorded as they happen: each is stamped before it begins and after its end, by one clock.
func ExampleRecorder() {
	var recorder histories.Recorder
	var clock atomic.Int64 // in a program: the time since it began
	now := func() int64 { return clock.Add(1) }

	first := recorder.Begin(1, "acquire", linearizability.Null, now())
	first.End(linearizability.OK, linearizability.Null, now())
	second := recorder.Begin(2, "acquire", linearizability.Null, now())
	second.End(linearizability.OK, linearizability.Null, now()) // the first client has not released

	for _, verdict := range linearizability.Check(linearizability.Lock(), recorder.History(),
		0) {
		fmt.Println(verdict)
	}
	// Output:
	// violation: exclusion: two clients held the lock at once: client 1 acquire [1..2], client 2 acquire [3..4]
}
