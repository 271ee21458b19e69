package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// The page has all recipes, and the current text of each cause.
func TestForeignPage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "foreign.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range foreignRecipes {
		if n := bytes.Count(page, []byte("\n| "+r.name+" |")); n != 1 {
			t.Errorf("the page has %d rows of %s", n, r.name)
		}
		for _, c := range r.causes {
			text, err := c.explanation()
			if err != nil || !bytes.Contains(page, []byte(text)) {
				t.Errorf("the page does not say what the text of %s does (%v)", c.text, err)
			}
		}
	}
}
