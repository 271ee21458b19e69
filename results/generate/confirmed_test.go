package main

import (
	"encoding/json"
	"testing"
)

// What is confirmed counts, and apart from it what is confirmed step by step, in whichever try.
func TestTally(t *testing.T) {
	var zoo confirmedZoo
	err := json.Unmarshal([]byte(`{"animals": [
		{"found": true, "confirmed": "confirmed"},
		{"found": true, "confirmed": "confirmed at try 3"},
		{"found": true, "confirmed": "confirmed at try 2, though step 3 was another: get /a"},
		{"found": true, "confirmed": "not confirmed: step 27 was another: event /a"},
		{"found": true, "confirmed": "not tried: step 2"},
		{"found": false}
	]}`), &zoo)
	if err != nil {
		t.Fatal(err)
	}
	if found, confirmed, same := zoo.tally(); found != 5 || confirmed != 3 || same != 2 {
		t.Errorf("%d found, %d confirmed, %d with the same steps; want 5, 3, 2", found, confirmed, same)
	}
}
