package main

import (
	"strings"
	"testing"
)

func TestUnknownReport(t *testing.T) {
	err := run(t.Context(), []string{"weather"})
	if err == nil || !strings.Contains(err.Error(), "zoo, judging") || !strings.Contains(err.Error(), "million") {
		t.Errorf("an unknown report gave %v", err)
	}
}

func TestNumber(t *testing.T) {
	for n, want := range map[int]string{0: "0", 12: "12", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		if got := number(n); got != want {
			t.Errorf("number(%d) = %q, want %q", n, got, want)
		}
	}
}
