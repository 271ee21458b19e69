// Package resolved shows the recipes of package published without their switches: the code of an animal of the zoo,
// and the code of its fix.
//
// # The model
//
// A file of package published has several bugs, each behind a switch that asks whether the bug is on. [Functions]
// resolves all switches twice, with the bugs of an animal and without any, and returns the functions that differ. The
// source is the one that this program was built from.
package resolved

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"

	"github.com/zktorture/zktorture/zoo/published"
)

// Function is a function or method that differs between the recipe with bugs and the fixed one.
type Function struct {
	File             string // in package published
	Name             string
	Published, Fixed string // its text, formatted, with its doc; without switches
}

// Functions returns the functions that differ with these bugs in force from those without any, none if there is none.
func Functions(bugs published.Bugs) ([]Function, error) {
	var found []Function
	for _, name := range published.Files() {
		same, err := indifferent(name, bugs)
		if err != nil {
			return nil, err
		}
		if same {
			continue
		}
		broken, err := functionsOf(name, bugs)
		if err != nil {
			return nil, err
		}
		fixed, err := functionsOf(name, published.NoBugs())
		if err != nil {
			return nil, err
		}
		for i, f := range broken {
			if f.text != fixed[i].text {
				found = append(found, Function{name, f.name, f.text, fixed[i].text})
			}
		}
	}
	return found, nil
}

// indifferent tells whether a file has no switch of these bugs, and no comment on them.
func indifferent(name string, bugs published.Bugs) (bool, error) {
	src, err := published.Source(name)
	if err != nil {
		return false, err
	}
	broken, err := decide(src, bugs)
	if err != nil {
		return false, err
	}
	fixed, err := decide(src, published.NoBugs())
	return bytes.Equal(broken, fixed), err
}

// File returns a file of package published with the switches decided, as text.
func File(name string, bugs published.Bugs) (string, error) {
	src, err := published.Source(name)
	if err != nil {
		return "", err
	}
	if src, err = resolve(src, bugs); err != nil {
		return "", fmt.Errorf("zoo/published/%s with the bugs %s: %w", name, bugs, err)
	}
	return string(src), nil
}

type function struct{ name, text string }

func functionsOf(name string, bugs published.Bugs) (all []function, err error) {
	src, err := File(name, bugs)
	if err != nil {
		return nil, err
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok {
			first, last := fset.Position(from(f)).Line, fset.Position(f.End()).Line
			all = append(all, function{f.Name.Name, lines(src, first, last)})
		}
	}
	return all, nil
}

// from is where a function begins, with its doc.
func from(f *ast.FuncDecl) token.Pos {
	if f.Doc != nil {
		return f.Doc.Pos()
	}
	return f.Pos()
}

func lines(text string, first, last int) string {
	return strings.Join(slices.Collect(strings.Lines(text))[first-1:last], "")
}
