package resolved

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/zktorture/zktorture/zoo/published"
)

// resolve returns a file with all switches decided as these bugs say: without calls of Has and Later, without
// branches that are never taken, and without the comments BUG of other bugs. It is an error if a switch is of a form
// that is not known.
//
// It replaces the calls by true and false, and then text by simpler text until nothing is left to simplify. The text
// of what remains is not touched, so that comments stay where they are. A condition is taken to do nothing but to be
// true or false: what stands before "&& false" goes, too.
func resolve(src []byte, bugs published.Bugs) ([]byte, error) {
	src, err := decide(src, bugs)
	for before := []byte(nil); err == nil && !bytes.Equal(src, before); {
		before = src
		src, err = rewrite(src, (*text).simplify)
	}
	if err != nil {
		return nil, err
	}
	if src, err = rewrite(src, (*text).dropImports); err != nil {
		return nil, err
	}
	return format.Source(src)
}

// decide replaces what asks for bugs by the answers, and does nothing else.
func decide(src []byte, bugs published.Bugs) ([]byte, error) {
	return rewrite(src, (&decider{bugs, map[string]bool{}}).decide)
}

// text is a parsed file and what is to be replaced in it.
type text struct {
	*ast.File
	src   []byte
	fset  *token.FileSet
	edits []edit
	err   error
}

// edit replaces the bytes from one position to another.
type edit struct {
	from, to token.Pos
	by       string
}

// rewrite has a rule say what to replace, and replaces it.
func rewrite(src []byte, rule func(*text)) ([]byte, error) {
	t := &text{src: src, fset: token.NewFileSet()}
	t.File, t.err = parser.ParseFile(t.fset, "", src, parser.ParseComments|parser.SkipObjectResolution)
	if t.err != nil {
		return nil, t.err
	}
	rule(t)
	slices.SortFunc(t.edits, func(a, b edit) int { return int(a.from - b.from) })
	var out []byte
	at := 0
	for _, e := range t.edits {
		from, to := t.offset(e.from), t.offset(e.to)
		before, after := bytes.TrimRight(src[:from], " \t"), bytes.TrimLeft(src[to:], " \t")
		if e.by == "" && bytes.HasSuffix(before, []byte{'\n'}) && bytes.HasPrefix(after, []byte{'\n'}) {
			from, to = len(before)-1, len(src)-len(after) // the whole line
		}
		out = append(append(out, src[at:from]...), e.by...)
		at = to
	}
	return append(out, src[at:]...), t.err
}

func (t *text) replace(from, to token.Pos, by string) { t.edits = append(t.edits, edit{from, to, by}) }

func (t *text) offset(p token.Pos) int { return t.fset.Position(p).Offset }

func (t *text) line(p token.Pos) int { return t.fset.Position(p).Line }

func (t *text) between(from, to token.Pos) string { return string(t.src[t.offset(from):t.offset(to)]) }

func (t *text) of(n ast.Node) string { return t.between(n.Pos(), n.End()) }

func (t *text) fail(n ast.Node, what string) {
	t.err = fmt.Errorf("line %d: %s: it is not known how to resolve that", t.line(n.Pos()), what)
}

// decider replaces the calls of Has and Later, and drops the comments of bugs that are not in force.
type decider struct {
	bugs  published.Bugs
	later map[string]bool // ids that are asked for by Later
}

func (d *decider) decide(t *text) {
	ast.Inspect(t.File, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		method, id := question(call)
		switch method {
		case "Has":
			t.replace(n.Pos(), n.End(), strconv.FormatBool(d.bugs.Has(id)))
		case "Later":
			d.later[id] = true
			t.replace(n.Pos(), n.End(), strconv.FormatBool(d.bugs.Later(id)))
		}
		return method == ""
	})
	for _, group := range t.Comments {
		for _, c := range group.List {
			if ids := BugsOf(c.Text); ids != nil && !slices.ContainsFunc(ids, d.inForce) {
				t.replace(c.Pos(), c.End(), "")
			}
		}
	}
}

func (d *decider) inForce(id string) bool {
	if d.later[id] {
		return d.bugs.Later(id)
	}
	return d.bugs.Has(id)
}

// question tells which method a call calls of bugs, or of a field of that name, and for which id; "" if it is no such
// call.
func question(call *ast.CallExpr) (method, id string) {
	of, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) != 1 || of.Sel.Name != "Has" && of.Sel.Name != "Later" || !isBugs(of.X) {
		return "", ""
	}
	lit, ok := call.Args[0].(*ast.BasicLit)
	if !ok {
		return "", ""
	}
	id, _ = strconv.Unquote(lit.Value)
	return of.Sel.Name, id
}

func isBugs(x ast.Expr) bool {
	if field, ok := x.(*ast.SelectorExpr); ok {
		return field.Sel.Name == "bugs"
	}
	name, ok := x.(*ast.Ident)
	return ok && name.Name == "bugs"
}

var bugComment = regexp.MustCompile(`^// BUG: ([A-Z]+\d+(?:, [A-Z]+\d+)*) `)

// BugsOf returns the ids of a comment "// BUG: W5, W9 …", nil of any other.
func BugsOf(comment string) []string {
	m := bugComment.FindStringSubmatch(comment)
	if m == nil {
		return nil
	}
	return strings.Split(m[1], ", ")
}

// bugComments are the comments BUG in what is dropped: they say what has been left out there.
func (t *text) bugComments(from, to token.Pos) string {
	var kept []string
	for _, group := range t.Comments {
		for _, c := range group.List {
			if from <= c.Pos() && c.End() <= to && BugsOf(c.Text) != nil {
				kept = append(kept, c.Text)
			}
		}
	}
	return strings.Join(kept, "\n")
}

// lineEnd is the end of the comment that stands behind a position on its line, or the position.
func (t *text) lineEnd(p token.Pos) token.Pos {
	for _, group := range t.Comments {
		if group.Pos() >= p && t.line(group.Pos()) == t.line(p) {
			return group.List[0].End()
		}
	}
	return p
}

// dropImports drops the imports that only dropped code has used.
func (t *text) dropImports() {
	used := map[string]bool{}
	ast.Inspect(t.File, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if name, ok := sel.X.(*ast.Ident); ok {
				used[name.Name] = true
			}
		}
		return true
	})
	for _, spec := range t.Imports {
		path, _ := strconv.Unquote(spec.Path.Value)
		if !used[path[strings.LastIndexByte(path, '/')+1:]] {
			t.replace(spec.Pos(), spec.End(), "")
		}
	}
}
