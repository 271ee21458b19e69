package main

import (
	"os"
	"strings"
	"testing"
)

// Each change can be made, its line is there once, and the page has what came of it. The first is found.
func TestChangesCanBeMade(t *testing.T) {
	t.Chdir("../..")
	all, err := readChanges()
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("results/changes.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		if changed, err := c.changed(); err != nil || !strings.Contains(changed, c.New+"\n") || c.New == c.Old {
			t.Errorf("%v: %v", c, err)
		}
		if !strings.Contains(string(page), c.String()) {
			t.Errorf("the page does not have %v: go run ./results/generate changes", c)
		}
	}
	if err := all[0].search(t.Context()); err != nil || all[0].Property == "" {
		t.Errorf("%v: %v, %v", all[0], all[0].Property, err)
	}
	all[0].Old = "no such line"
	if _, err := all[0].changed(); err == nil {
		t.Error("a line was changed that is not there")
	}
}
