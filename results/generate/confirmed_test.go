package main

import (
	"encoding/json"
	"testing"
)

// Confirmations are counted, and separately those with each step the same, in any try.
func TestTally(t *testing.T) {
	var zoo zooResult
	err := json.Unmarshal([]byte(`{"animals": [
		{"found": true, "confirmation": {"violation": true}},
		{"found": true, "confirmation": {"violation": true, "tries": 3}},
		{"found": true, "confirmation": {"violation": true, "tries": 2, "step": 3, "difference": "get /a"}},
		{"found": true, "confirmation": {"violation": false, "step": 27, "difference": "event /a"}},
		{"found": true, "confirmation": {"violation": false, "untried": "step 2"}},
		{"found": false}
	]}`), &zoo)
	if err != nil {
		t.Fatal(err)
	}
	if found, confirmed, same := zoo.tally(); found != 5 || confirmed != 3 || same != 2 {
		t.Errorf("%d found, %d confirmed, %d with the same steps; want 5, 3, 2", found, confirmed, same)
	}
}
