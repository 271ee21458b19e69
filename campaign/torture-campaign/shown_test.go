package main

import (
	"io"
	"regexp"
	"slices"
	"testing"

	"github.com/zktorture/zktorture/internal/testkit"
)

// TestShownCommands checks each command line of this program that a page shows, also of those that are not run.
func TestShownCommands(t *testing.T) {
	commands, err := testkit.Commands("../..", commandName)
	if err != nil {
		t.Fatal(err)
	}
	missing := regexp.MustCompile(`^(expected "|missing flags: )`)
	for _, shown := range commands {
		if slices.Contains(tortures, shown.Args[0]) {
			continue // torture's own test knows their flags
		}
		parser := newParser(&cli{}, streams{io.Discard, io.Discard, io.Discard}, func(int) {})
		_, err := parser.Parse(shown.Args)
		if err != nil && !(shown.Prose && missing.MatchString(err.Error())) {
			t.Errorf("%s shows %q: %v", shown.Where, shown.Line, err)
		}
	}
	if len(commands) < 20 {
		t.Errorf("only %d were found", len(commands))
	}
}
