package published

import (
	"embed"
	"slices"
	"strings"
)

//go:embed *.go
var source embed.FS

// Files lists the files of this package, without its tests.
func Files() (names []string) {
	entries, err := source.ReadDir(".")
	if err != nil {
		panic(err) // embedded
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return slices.DeleteFunc(names, func(name string) bool { return strings.HasSuffix(name, "_test.go") })
}

// Source returns the text of one of [Files].
func Source(name string) ([]byte, error) { return source.ReadFile(name) }
