package recipes_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// timers are what a goroutine can wait for a time with.
var timers = map[string][]string{
	"time":    {"After", "AfterFunc", "NewTicker", "NewTimer", "Sleep", "Tick"},
	"context": {"WithDeadline", "WithDeadlineCause", "WithTimeout", "WithTimeoutCause"},
}

// Every timer of the recipes is set by call.NewTimer or call.WithTimeout, which tell the simulator: else equal choices
// could give different runs, see world.TellsTime. What the workloads do between the recipes' operations sets none.
func TestEveryTimerIsTold(t *testing.T) {
	told := 0
	for _, name := range sources(t, ".", "cluster", "../internal/call", "../workload") {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && strings.HasPrefix(name, "../internal/call/") && (f.Name.Name == "NewTimer" || f.Name.Name == "WithTimeout") {
				told += len(timersIn(f))
			} else if found := timersIn(d); len(found) > 0 {
				t.Errorf("%s sets timers by %v; the recipes use those of internal/call", name, found)
			}
		}
	}
	if told != 2 {
		t.Errorf("internal/call sets %d timers: want 2", told)
	}
}

// sources are the files of packages without their tests.
func sources(t *testing.T, dirs ...string) (names []string) {
	for _, dir := range dirs {
		all, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(all) == 0 {
			t.Fatalf("%d files in %s: %v", len(all), dir, err)
		}
		names = append(names, all...)
	}
	return slices.DeleteFunc(names, func(name string) bool { return strings.HasSuffix(name, "_test.go") })
}

func timersIn(n ast.Node) (found []string) {
	ast.Inspect(n, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if of, ok := s.X.(*ast.Ident); ok && slices.Contains(timers[of.Name], s.Sel.Name) {
				found = append(found, of.Name+"."+s.Sel.Name)
			}
		}
		return true
	})
	return found
}
