package linearizability_test

import (
	"fmt"
	"log"
	"strings"

	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/linearizability/histories"
)

// A history that was recorded elsewhere: client 1 does not know whether its second offer has happened.
func ExampleCheck() {
	history, err := histories.Read(strings.NewReader(`
		{"client":1,"op":"offer","arg":"a","outcome":"ok","call":1,"return":2}
		{"client":1,"op":"offer","arg":"b","outcome":"unknown","call":3,"return":null}
		{"client":2,"op":"poll","result":"b","outcome":"ok","call":4,"return":6}
	`))
	if err != nil {
		log.Fatal(err)
	}
	for _, verdict := range linearizability.Check(linearizability.Queue(), history, 0) {
		fmt.Println(verdict)
	}
	// Output:
	// violation: lost: a value was lost: a later one came out, it never did: client 1 offer a [1..2], client 1 offer b (unknown) [3..], client 2 poll → b [4..6]
}
