package testkit

import (
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"
)

// Documents returns the Markdown files at the root of the repository and below docs, as slash-separated paths. Folders with
// a hidden name and node_modules hold no pages of this project.
func Documents(root string) ([]string, error) {
	tree := os.DirFS(root)
	names, err := fs.Glob(tree, "*.md")
	if err != nil {
		return nil, err
	}
	err = fs.WalkDir(tree, "docs", func(name string, entry fs.DirEntry, err error) error {
		switch base := path.Base(name); {
		case err != nil:
			return err
		case entry.IsDir() && (base == "node_modules" || strings.HasPrefix(base, ".")):
			return fs.SkipDir
		case path.Ext(name) == ".md":
			names = append(names, name)
		}
		return nil
	})
	return names, err
}

// File is the text of a file, which must be there.
func File(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
