package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	quoted   = regexp.MustCompile("`([^`]*)`")
	testFunc = regexp.MustCompile(`(?m)^func (Test\w+)\(`)
)

// trapRows is the least number of traps that docs/explanation/fidelity.md lists.
const trapRows = 12

// TestTrapsAreHeld checks that the tests and transcripts named for each trap in docs/explanation/fidelity.md exist.
func TestTrapsAreHeld(t *testing.T) {
	root := repository(t)
	text, err := os.ReadFile(filepath.Join(root, "docs", "explanation", "fidelity.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## Traps\n")
	section, _, _ = strings.Cut(section, "\n## ")
	tests, rows := allTests(t, root), 0
	for line := range strings.Lines(section) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| trap |") {
			continue
		}
		rows++
		checkTrap(t, root, tests, line)
	}
	if rows < trapRows {
		t.Errorf("there are %d traps, want %d", rows, trapRows)
	}
}

// checkTrap looks up the names in the last cell of a row.
func checkTrap(t *testing.T, root string, tests map[string]bool, row string) {
	cells := strings.Split(strings.Trim(strings.TrimSpace(row), "|"), "|")
	names := quoted.FindAllStringSubmatch(cells[len(cells)-1], -1)
	if len(cells) != 3 || len(names) == 0 {
		t.Errorf("not a trap, what is done, and tests: %s", row)
	}
	for _, name := range names {
		_, err := os.Stat(filepath.Join(root, name[1]))
		if isFile := strings.HasSuffix(name[1], ".txt"); isFile && err != nil || !isFile && !tests[name[1]] {
			t.Errorf("there is no %s for the trap%s", name[1], cells[0])
		}
	}
}

// allTests finds the tests of the module.
func allTests(t *testing.T, root string) map[string]bool {
	tests := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range testFunc.FindAllSubmatch(text, -1) {
			tests[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return tests
}
