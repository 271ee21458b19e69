package workload

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/sim/world"
)

// Nothing follows from itself, not even by way of others; else of two that break neither would be the root.
func TestCausesAreAnOrder(t *testing.T) {
	var visit func(property string, from []string)
	visit = func(property string, from []string) {
		for i, before := range from {
			if before == property {
				t.Fatalf("%s follows from itself: %s", property, strings.Join(append(from[i:], property), ", "))
			}
		}
		for _, next := range consequences[property] {
			if world.Gravity(next) < world.Gravity(property) {
				t.Errorf("%s is graver than its cause, %s", next, property)
			}
			visit(next, append(from, property))
		}
	}
	for property := range consequences {
		visit(property, nil)
	}
}

// What the table names is broken by something: a judge has it in quotes.
func TestCausesAreProperties(t *testing.T) {
	var code strings.Builder
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") ||
			d.Name() == "causes.go" {
			return err
		}
		text, err := os.ReadFile(path)
		code.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	all := code.String()
	for cause := range consequences {
		for _, property := range append([]string{cause}, consequences[cause]...) {
			if !strings.Contains(all, strconv.Quote(property)) {
				t.Errorf("%s is in the table of causes, and no judge finds it broken", property)
			}
		}
	}
}
