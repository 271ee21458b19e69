package command

import (
	"regexp"
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
		parser := newParser(&cli{}, quiet, func(int) {})
		_, err := parser.Parse(shown.Args)
		if err != nil && !(shown.Prose && missing.MatchString(err.Error())) {
			t.Errorf("%s shows %q: %v", shown.Where, shown.Line, err)
		}
	}
	if len(commands) < 20 {
		t.Errorf("only %d were found", len(commands))
	}
}
