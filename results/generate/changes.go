package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/zktorture/zktorture/sim/tally"
)

const changesFile = "results/changes.txt"

// change is a change of one line of a recipe, the search in which it is to be seen, and what that found.
type change struct {
	File, Kind, Clients, Ops, Faults string
	Old, New                         string // lines

	Property string // that broke; "" for none
	Extent   tally.Extent
}

// String names the change, as a cell of a table has it.
func (c *change) String() string {
	return strings.ReplaceAll(fmt.Sprintf("`%s` → `%s`", strings.TrimSpace(c.Old), strings.TrimSpace(c.New)), "|", `\|`)
}

// readChanges reads blocks with empty lines between them: the file and the search, the line that is there after -, and the
// one that takes its place after +.
func readChanges() (all []*change, err error) {
	text, err := os.ReadFile(changesFile)
	for block := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n\n") {
		c, lines := &change{}, strings.Split(block, "\n")
		if n, _ := fmt.Sscan(lines[0], &c.File, &c.Kind, &c.Clients, &c.Ops, &c.Faults); err == nil && (n != 5 || len(lines) != 3 || lines[1][0] != '-' || lines[2][0] != '+') {
			err = fmt.Errorf("%s: want FILE KIND CLIENTS OPS FAULT, a line with - and one with +:\n%s", changesFile, block)
		}
		if err != nil {
			return nil, err
		}
		c.Old, c.New = lines[1][1:], lines[2][1:]
		all = append(all, c)
	}
	return all, nil
}

// changed is the recipe's file with the change. The error says that the line is not there, or not once.
func (c *change) changed() (string, error) {
	source, err := os.ReadFile(filepath.Join(mutatedPackage, c.File))
	if n := strings.Count(string(source), c.Old+"\n"); err == nil && n != 1 {
		err = fmt.Errorf("%s: the line is there %d times: %q", c.File, n, c.Old)
	}
	return strings.Replace(string(source), c.Old+"\n", c.New+"\n", 1), err
}

func measureChanges(ctx context.Context) (any, error) {
	all, err := readChanges()
	if err != nil {
		return nil, err
	}
	found := 0
	for _, c := range all {
		if err := c.search(ctx); err != nil {
			return nil, fmt.Errorf("%v: %w", c, err)
		}
		found += count(c.Property != "")
	}
	if found < 30 {
		err = fmt.Errorf("%w: %d changes are found", errUnexpected, found)
	}
	return facts{"Changes": all, "Found": found}, err
}

// search searches with a command that has the change.
func (c *change) search(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "change")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	source, err := c.changed()
	if err != nil {
		return err
	}
	overlay, err := overlay(dir, c.File, []byte(source))
	if err != nil {
		return err
	}
	var found struct {
		Extent     tally.Extent
		Violations []violation
	}
	err = tortureOf(ctx, overlay, &found, "prove", c.Kind, "--plain", "--clients", c.Clients, "--ops", c.Ops, "--faults", c.Faults,
		"--duration", "1m", "--seed", "1", "--out", filepath.Join(dir, "out"))
	if c.Extent = found.Extent; len(found.Violations) > 0 {
		c.Property = found.Violations[0].Property
	}
	return err
}
