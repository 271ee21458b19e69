package main

import (
	"slices"
	"testing"
)

func TestReadKills(t *testing.T) {
	all := readKills(`=== RUN   TestKilledRun/0_after_3ms
    kill_linux_test.go:1: killed later: 123 operations in 10 rounds are judged
    kill_linux_test.go:1: killed before it made its folder: 0 operations in 0 rounds are judged
    kill_linux_test.go:1: killed later: 7 operations in 1 rounds are judged
    kill_linux_test.go:2: 3 runs were killed, 2 of them with a history: 130 operations are judged
`)
	if want := []killed{{"before it made its folder", 1, 0, 0}, {"later", 2, 11, 130}}; !slices.Equal(all, want) {
		t.Errorf("killed %+v, want %+v", all, want)
	}
}
