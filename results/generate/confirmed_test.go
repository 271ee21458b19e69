package main

import (
	"os"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/results/internal/measure"
)

// results/confirmed.md is what its record says, in the zoo's words of today.
func TestConfirmedPage(t *testing.T) {
	record, err := measure.ReadLines[replays]("../confirmed.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	want, err := fill("confirmed", confirmedPage(record))
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../confirmed.md")
	if err != nil || len(record) == 0 || !strings.HasSuffix(string(page), want) {
		t.Errorf("results/confirmed.md is not what confirmed.jsonl says (%v): go run ./results/generate confirmed", err)
	}
}

func TestOutcome(t *testing.T) {
	for want, outcomes := range map[string][]string{
		"confirmed 2 of 2":                                {"confirmed", "confirmed"},
		"confirmed 2 of 2; 1: confirmed at try 2":         {"confirmed", "confirmed at try 2"},
		"confirmed 1 of 2; 1: not confirmed: it held":     {"not confirmed: it held", "confirmed"},
		"confirmed 0 of 2; 1: not confirmed: a; 1: not b": {"not confirmed: a", "not b"},
		"confirmed 2 of 2; 2: confirmed, though _c_… was": {
			"confirmed, though _c_00112233445566778899aabbccddeeff was", "confirmed, though _c_ff112233445566778899aabbccddeeff was"},
		"not tried: a wrap": {"not tried: a wrap", "not tried: a wrap"},
	} {
		if got := (replays{Outcomes: outcomes}).Outcome(); got != want {
			t.Errorf("%q: %q, want %q", outcomes, got, want)
		}
	}
}
