package linearizability_test

import (
	"fmt"
	"log"
	"strings"
	"sync/atomic"

	"github.com/zktorture/zktorture/linearizability"
)

// A history that was recorded elsewhere: client 1 does not know whether its second offer has happened.
func ExampleCheck() {
	history, err := linearizability.Read(strings.NewReader(`
		{"client":1,"op":"offer","arg":"a","outcome":"ok","call":1,"return":2}
		{"client":1,"op":"offer","arg":"b","outcome":"unknown","call":3,"return":null}
		{"client":2,"op":"poll","result":"b","outcome":"ok","call":4,"return":6}
	`))
	if err != nil {
		log.Fatal(err)
	}
	for _, verdict := range linearizability.Check(linearizability.Queue(), history, linearizability.Options{}) {
		fmt.Println(verdict)
	}
	// Output:
	// violation: lost: a value was lost: a later one came out, it never did: client 1 offer a [1..2], client 1 offer b (unknown) [3..], client 2 poll → b [4..6]
}

// Calls of one's own are recorded as they happen: each is stamped before it begins and after its end, by one clock.
func ExampleRecorder() {
	var recorder linearizability.Recorder
	var clock atomic.Int64 // in a program: the time since it began
	now := func() int64 { return clock.Add(1) }

	first := recorder.Begin(1, "acquire", linearizability.Null, now())
	first.End(linearizability.OK, linearizability.Null, now())
	second := recorder.Begin(2, "acquire", linearizability.Null, now())
	second.End(linearizability.OK, linearizability.Null, now()) // the first client has not released

	for _, verdict := range linearizability.Check(linearizability.Lock(), recorder.History(),
		linearizability.Options{}) {
		fmt.Println(verdict)
	}
	// Output:
	// violation: exclusion: two clients held the lock at once: client 1 acquire [1..2], client 2 acquire [3..4]
}
