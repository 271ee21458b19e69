package workload

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/sim"
)

// Our recipes of every kind, without each of the methods that are optional, and without all, are right under all
// faults.
func TestRecipesThatCanDoLess(t *testing.T) {
	for _, k := range kinds {
		for _, e := range k.Recipes {
			if e.Recipe != Ours && !strings.HasPrefix(e.Recipe, Ours+"/") {
				continue
			}
			all := slices.Compact(slices.Sorted(slices.Values(k.optional)))
			for name, without := range lacking(all) {
				t.Run(k.Name+"/"+strings.TrimPrefix(e.Recipe, Ours+"/")+"/"+name, func(t *testing.T) {
					w := e.New()
					Without(without...)(&w.terms)
					isRight(t, w, testkit.Sized(12, 20_000))
				})
			}
		}
	}
}

// lacking returns lists of what a recipe may lack of some methods, with their names.
func lacking(all []string) map[string][]string {
	lists := map[string][]string{"bare": all}
	for _, method := range all {
		lists["without"+method] = []string{method}
	}
	return lists
}

func isRight(t *testing.T, w *Workload, episodes int) {
	r, err := sim.Run(t.Context(), w, sim.Config{Episodes: testkit.Share(episodes), Seed: 1, NoShrink: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s, %d episodes, %d operations, %d unknown", r.Verdict, r.Episodes, r.Operations, r.Undecided)
	if r.Verdict != sim.VerdictOK || r.Episodes != testkit.Share(episodes) {
		t.Errorf("%s after %d of %d episodes (%s)", r.Verdict, r.Episodes, episodes, r.Reason)
	}
	for _, f := range r.Violations {
		t.Error(f.Violation)
	}
}

// What a recipe can do is asked by able alone, for what its kind lists: so nothing is missing above.
func TestEveryAbilityIsListed(t *testing.T) {
	src := parsed(t)
	apart := []string{ // questions about something else
		"interface{OneObject()}", "interface{ZK() *zk.Conn}", "interface{Unwrap() recipes.Conn}",
		"interface{agree(terms, maker[any])}", "interface{reach(to any) bool}", "planned", "interface{Close()}",
		"interface{Close() error}", "interface{GoesBySession() bool}",
		"interface{AtDeath(func())}", "interface{Closes(begins bool)}", "interface{HasMethod(name string) bool}",
	}
	listed, used := map[string]bool{}, map[string]bool{}
	for _, file := range src {
		ast.Inspect(file, func(n ast.Node) bool {
			var asked []ast.Expr
			switch n := n.(type) {
			case *ast.TypeAssertExpr:
				asked = append(asked, n.Type)
			case *ast.TypeSwitchStmt:
				for _, c := range n.Body.List {
					asked = append(asked, c.(*ast.CaseClause).List...)
				}
			case *ast.IndexListExpr: // a kind's contest
				if types.ExprString(n.X) == "contest" {
					used[types.ExprString(n.Indices[1])] = true
				}
			case *ast.IndexExpr:
				switch types.ExprString(n.X) {
				case "able":
					used[types.ExprString(n.Index)] = true
				case "optionally":
					listed[types.ExprString(n.Index)] = true
				}
			}
			for _, x := range asked {
				if x != nil && isInterface(src, x) && !slices.Contains(apart, types.ExprString(x)) {
					t.Errorf("%s is asked for by a type assertion: make it a field of the kind's struct of abilities",
						types.ExprString(x))
				}
			}
			return true
		})
	}
	delete(used, "R")      // of any contest
	delete(used, "holder") // of a role of a kind of the user's own
	if !maps.Equal(listed, used) {
		t.Errorf("kinds list the abilities %v, and use %v", listed, used)
	}
}

func parsed(t *testing.T) (files []*ast.File) {
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	set := token.NewFileSet()
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

// isInterface reports whether a type is an interface, of this package's if it has a name.
func isInterface(src []*ast.File, x ast.Expr) bool {
	if name, is := x.(*ast.Ident); is {
		for _, file := range src {
			if o := file.Scope.Lookup(name.Name); o != nil && o.Kind == ast.Typ {
				return isInterface(src, o.Decl.(*ast.TypeSpec).Type)
			}
		}
	}
	_, is := x.(*ast.InterfaceType)
	return is
}
