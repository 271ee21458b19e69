package main

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/internal/cli/console"
)

// Each page shows a command, and what it really prints.
func TestDemo(t *testing.T) {
	t.Chdir(t.TempDir())
	status, shown, stderr := command(t, "zoo", "--demo", "--out", "a demo")
	if status != console.ExitOK || stderr != "" {
		t.Fatalf("exit status %d: %s", status, stderr)
	}
	shown = timeless(shown)
	commands := regexp.MustCompile(`(?m)^\$ torture (.*)$`).FindAllStringSubmatch(shown, -1)
	if len(commands) != 4 {
		t.Fatalf("there are %d commands in\n%s", len(commands), shown)
	}
	for _, c := range commands[1:] {
		_, alone, _ := command(t, argsOf(c[1])...)
		if !strings.Contains(shown, "$ torture "+c[1]+"\n"+timeless(alone)) {
			t.Errorf("torture %s alone prints something else:\n%s", c[1], alone)
		}
	}
	for _, part := range []string{"\nwhy: ", "minimised to 2 clients, 0 faults, ", "\nok lock (published/WriteLock, bugs: none)"} {
		if !strings.Contains(shown, part) {
			t.Errorf("%q is not in\n%s", part, shown)
		}
	}
	if files, _ := filepath.Glob("a demo/found/lock-*.json"); len(files) == 0 {
		t.Error("there is no counterexample")
	}
	if status, _, stderr := command(t, "zoo", "--demo", "--out", "a demo"); status != console.ExitUnknown || !strings.Contains(stderr, "exists already") {
		t.Errorf("a folder that is there is taken: exit status %d, %s", status, stderr)
	}
}

// argsOf are those of a command line in which some are in single quotes.
func argsOf(line string) (all []string) {
	for _, m := range regexp.MustCompile(`'([^']*)'|([^' ]+)`).FindAllStringSubmatch(line, -1) {
		all = append(all, m[1]+m[2])
	}
	return all
}
