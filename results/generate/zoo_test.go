package main

import (
	"os"
	"regexp"
	"testing"

	"github.com/zktorture/zktorture/zoo"
)

// results/zoo.md has each animal, or says that it was not measured.
func TestZooPageIsWhole(t *testing.T) {
	page, err := os.ReadFile("../zoo.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range zoo.Animals() {
		if !regexp.MustCompile(`(?m)(^|[ |])` + a.ID + `[ ,.]`).Match(page) {
			t.Errorf("results/zoo.md does not say that %s was not measured yet", a.ID)
		}
	}
}
