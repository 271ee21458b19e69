package command

import (
	"context"
	"io"
	"regexp"
	"testing"

	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	"github.com/zktorture/zktorture/internal/testkit"
)

// TestShownCommands checks each command line that a page shows in a shell block or in its text, also of those that are
// not run: its command, flags, names and values are right, and the flags go together.
func TestShownCommands(t *testing.T) {
	commands, err := testkit.Commands(repository(t), "torture")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	for _, shown := range commands {
		if shown.Where == "CHANGELOG.md" { // it says what is there no more
			continue
		}
		err := parses(shown.Args)
		if shown.Prose && err != nil && leftOut.MatchString(err.Error()) {
			continue
		}
		if err != nil {
			t.Errorf("%s shows %q: %v", shown.Where, shown.Line, err)
		}
	}
	if len(commands) < 50 {
		t.Errorf("only %d were found", len(commands))
	}
}

// leftOut is what is said of a command line whose arguments are left out, or stand there by their names, as FILE.
var leftOut = regexp.MustCompile(`expected |missing flags: |but got "[A-Z]+"|unknown [a-z]+ "[A-Z]+"`)

// parses returns why a command line is refused.
func parses(args []string) error {
	c := &console.Context{Context: context.Background(), Streams: console.Streams{Stdout: io.Discard, Stderr: io.Discard, Self: "torture"}}
	_, _, err := parse(c, args)
	return err
}
