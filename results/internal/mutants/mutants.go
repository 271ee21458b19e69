// Package mutants reads the reports of the mutation tester gremlins and applies its mutants again.
//
// A mutant is a source file with one token replaced. Gremlins reports its position and whether the tests noticed. It
// does not report whether a mutant compiles: the go command's status is the same for a failed test and a failed
// build, so s+"x" turned into s-"x" counts as killed. Viable separates these. And gremlins identifies a mutant only
// by line and column, which move with every edit; Change shows the line itself.
package mutants

import (
	"cmp"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Mutant is a change of one token.
type Mutant struct {
	File   string `json:"-"`      // the file's name in its package
	Type   string `json:"type"`   // of the mutation, in gremlins' terms
	Status string `json:"status"` // likewise
	Line   int    `json:"line"`   // of the token, from 1
	Column int    `json:"column"` // in bytes, from 1
	line   string // the source line
}

// report is the part of gremlins' reports in use.
type report struct {
	Files []reportedFile `json:"files"`
}

type reportedFile struct {
	Name      string   `json:"file_name"`
	Mutations []Mutant `json:"mutations"`
}

// Statuses of mutants. The last is not gremlins'.
const (
	Killed        = "KILLED"
	Lived         = "LIVED"
	KilledByOther = "KILLED BY ANOTHER TEST"
)

// Write returns a report that [Read] reads.
func Write(all []Mutant) ([]byte, error) {
	var r report
	for _, m := range all {
		if n := len(r.Files); n == 0 || r.Files[n-1].Name != m.File {
			r.Files = append(r.Files, reportedFile{Name: m.File})
		}
		last := &r.Files[len(r.Files)-1]
		last.Mutations = append(last.Mutations, m)
	}
	return json.MarshalIndent(r, "", "\t")
}

// Read reads the report that gremlins writes with --output. Of mutants that are the same change it returns the first.
func Read(data []byte) (all []Mutant, err error) {
	var r report
	seen := map[string]bool{}
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("the report of gremlins: %w", err)
	}
	for _, f := range r.Files {
		for _, m := range f.Mutations {
			m.File = filepath.Base(f.Name)
			if key := m.key(); !seen[key] {
				seen[key] = true
				all = append(all, m)
			}
		}
	}
	return all, nil
}

// Killed reports whether the tests noticed the mutant. A timeout does not count.
func (m Mutant) Killed() bool { return m.Status == Killed }

// Lived reports whether the tests ran and did not notice the mutant.
func (m Mutant) Lived() bool { return m.Status == Lived }

// key names the change. Inverting a minus has two types with one effect.
func (m Mutant) key() string {
	kind := m.Type
	if kind == "INVERT_NEGATIVES" {
		kind = "ARITHMETIC_BASE"
	}
	return fmt.Sprintf("%s:%d:%d %s", m.File, m.Line, m.Column, kind)
}

func (m Mutant) String() string { return fmt.Sprintf("%s:%d:%d %s", m.File, m.Line, m.Column, m.Type) }

// replacements are the tokens by type of mutation (gremlins, internal/engine/mappings.go).
var replacements = map[string]map[string]string{
	"ARITHMETIC_BASE":       {"+": "-", "*": "/", "/": "*", "%": "*", "-": "+"},
	"CONDITIONALS_BOUNDARY": {">=": ">", ">": ">=", "<=": "<", "<": "<="},
	"CONDITIONALS_NEGATION": {"==": "!=", ">=": "<", ">": "<=", "<=": ">", "<": ">=", "!=": "=="},
	"INCREMENT_DECREMENT":   {"--": "++", "++": "--"},
	"INVERT_ASSIGNMENTS":    {"+=": "-=", "*=": "/=", "/=": "*=", "%=": "%=", "-=": "+="},
	"INVERT_LOGICAL":        {"&&": "||", "||": "&&"},
	"INVERT_LOOPCTRL":       {"break": "continue", "continue": "break"},
	"INVERT_NEGATIVES":      {"-": "+"},
}

// Apply returns the mutated file. dir is the package's directory.
func (m Mutant) Apply(dir string) ([]byte, error) {
	source, err := os.ReadFile(filepath.Join(dir, m.File))
	if err != nil {
		return nil, err
	}
	lines := strings.SplitAfter(string(source), "\n")
	if m.Line > len(lines) {
		return nil, fmt.Errorf("%s: the file has %d lines", m, len(lines))
	}
	if lines[m.Line-1], err = m.mutate(lines[m.Line-1]); err != nil {
		return nil, err
	}
	return []byte(strings.Join(lines, "")), nil
}

func (m Mutant) mutate(line string) (string, error) {
	at := min(m.Column-1, len(line))
	of := replacements[m.Type]
	for _, old := range slices.SortedFunc(maps.Keys(of), longer) {
		if strings.HasPrefix(line[at:], old) {
			return line[:at] + of[old] + line[at+len(old):], nil
		}
	}
	return "", fmt.Errorf("%s: nothing to mutate there in %q: the source has changed since the report", m, line)
}

// longer orders the tokens so that none comes after a prefix of its own.
func longer(a, b string) int { return len(b) - len(a) }

// Change shows the mutated line, with the file's name. It is the mutant's name.
func (m Mutant) Change() string {
	mutated, _ := m.mutate(m.line)
	return fmt.Sprintf("%s: %s → %s", m.File, strings.TrimSpace(m.line), strings.TrimSpace(mutated))
}

// Viable returns the mutants that compile, in source order, and those that do not.
func Viable(dir string, all []Mutant) (viable, broken []Mutant, err error) {
	c := checker{fset: token.NewFileSet(), dir: dir}
	c.importer = importer.ForCompiler(c.fset, "source", nil)
	if err := c.parse(); err != nil {
		return nil, nil, err
	}
	for _, m := range all {
		source, err := m.Apply(dir)
		if err != nil {
			return nil, nil, err
		}
		m.line = c.lines[m.File][m.Line-1]
		if c.compiles(m.File, source) {
			viable = append(viable, m)
		} else {
			broken = append(broken, m)
		}
	}
	slices.SortFunc(viable, func(a, b Mutant) int {
		return cmp.Or(strings.Compare(a.File, b.File), a.Line-b.Line, a.Column-b.Column,
			strings.Compare(a.Type, b.Type))
	})
	return viable, broken, nil
}

// checker type-checks a package with one of its files replaced.
type checker struct {
	dir      string
	fset     *token.FileSet
	importer types.Importer
	files    map[string]*ast.File
	lines    map[string][]string
}

func (c *checker) parse() error {
	c.files, c.lines = map[string]*ast.File{}, map[string][]string{}
	names, err := filepath.Glob(filepath.Join(c.dir, "*.go"))
	if err != nil {
		return err
	}
	for _, path := range names {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name := filepath.Base(path)
		if c.files[name], err = parser.ParseFile(c.fset, path, source, parser.SkipObjectResolution); err != nil {
			return err
		}
		c.lines[name] = strings.Split(string(source), "\n")
	}
	if !c.check(c.files) {
		return fmt.Errorf("the package in %s does not compile", c.dir)
	}
	return nil
}

func (c *checker) compiles(name string, source []byte) bool {
	mutated, err := parser.ParseFile(c.fset, filepath.Join(c.dir, name), source, parser.SkipObjectResolution)
	if err != nil {
		return false
	}
	files := maps.Clone(c.files)
	files[name] = mutated
	return c.check(files)
}

func (c *checker) check(files map[string]*ast.File) bool {
	config := types.Config{Importer: c.importer}
	var list []*ast.File
	for _, name := range slices.Sorted(maps.Keys(files)) {
		list = append(list, files[name])
	}
	_, err := config.Check(c.dir, c.fset, list, nil)
	return err == nil
}
