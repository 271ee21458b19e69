package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// goRecipesOfFile are the recipes of other Go projects with all of their defects.
func goRecipesOfFile(t *testing.T) (all []foreignRecipe) {
	t.Helper()
	for _, r := range goRecipes {
		defects, err := r.knownDefects(filepath.Join("..", "..", goModule, "known.tsv"))
		if err != nil {
			t.Fatal(err)
		}
		one := foreignRecipe{name: r.Title, kind: r.kind, library: r.name}
		for _, d := range defects {
			one.causes = append(one.causes, d.foreignCause)
		}
		all = append(all, one)
	}
	return all
}

// Each line of known.tsv is about a recipe of the page.
func TestGoDefectsHaveRecipes(t *testing.T) {
	file, err := os.ReadFile(filepath.Join("..", "..", goModule, "known.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	defects := 0
	for _, r := range goRecipesOfFile(t) {
		if len(r.causes) == 0 {
			t.Errorf("nothing is known of %s", r.name)
		}
		defects += len(r.causes)
	}
	if lines := bytes.Count(file, []byte("\n")) - 1; lines != defects {
		t.Errorf("%d lines in known.tsv, %d of them about recipes", lines, defects)
	}
}

// A line with a column too few is an error that shows it.
func TestGoDefectsAreRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "known.tsv")
	if err := os.WriteFile(file, []byte("lock\tvault\tcause\tloss\torphan\tnone\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := goRecipes[0].knownDefects(file); err == nil || !strings.Contains(err.Error(), "6 columns of 7") {
		t.Error(err)
	}
	if _, err := goRecipes[0].knownDefects(file + "x"); err == nil {
		t.Error("a file that is not there is read")
	}
}

// The page has all recipes, and the current text of each cause.
func TestGoPage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "foreigngo.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range goRecipesOfFile(t) {
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
