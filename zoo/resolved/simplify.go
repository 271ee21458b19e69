package resolved

import (
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// simplify finds what can be said in a simpler way, the outermost first. What is inside of that is seen the next time.
func (t *text) simplify() {
	functions := map[*ast.BlockStmt]*ast.FuncType{}
	for _, d := range t.Decls {
		ast.Inspect(d, func(n ast.Node) bool {
			seen := len(t.edits)
			if f, ok := n.(*ast.FuncLit); ok {
				functions[f.Body] = f.Type
			}
			switch n := n.(type) {
			case ast.Expr:
				if by, ok := t.simpler(n); ok {
					t.replace(n.Pos(), n.End(), by)
				}
			case *ast.IfStmt:
				t.elseIf(n)
			case *ast.BlockStmt:
				t.statements(scope{d, functions[n]}, n.List)
			case *ast.CaseClause:
				t.statements(scope{d, nil}, n.Body)
			case *ast.CommClause:
				t.statements(scope{d, nil}, n.Body)
			case *ast.FuncDecl:
				functions[n.Body] = n.Type
			}
			return len(t.edits) == seen
		})
	}
}

// simpler returns a logical expression without a constant operand, and without parentheses that it does not need.
func (t *text) simpler(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.ParenExpr:
		_, binary := e.X.(*ast.BinaryExpr)
		if _, constant := constant(e.X); constant || !binary && isCondition(e.X) {
			return t.of(e.X), true
		}
	case *ast.UnaryExpr:
		if value, ok := constant(e.X); ok && e.Op == token.NOT {
			return strconv.FormatBool(!value), true
		}
	case *ast.BinaryExpr:
		if e.Op == token.LAND || e.Op == token.LOR {
			return t.simplerLogic(e)
		}
	}
	return "", false
}

// isCondition tells whether an expression in parentheses may stand without them wherever a condition may.
func isCondition(e ast.Expr) bool {
	not, ok := e.(*ast.UnaryExpr)
	return ok && not.Op == token.NOT
}

func (t *text) simplerLogic(e *ast.BinaryExpr) (string, bool) {
	for _, o := range [][2]ast.Expr{{e.X, e.Y}, {e.Y, e.X}} {
		if value, ok := constant(o[0]); ok && value == (e.Op == token.LAND) {
			return t.of(o[1]), true
		} else if ok {
			return strconv.FormatBool(value), true
		}
	}
	for _, o := range []ast.Expr{e.X, e.Y} {
		if inner, ok := comparison(o); ok {
			return t.between(e.Pos(), o.Pos()) + t.of(inner) + t.between(o.End(), e.End()), true
		}
	}
	return "", false
}

// comparison returns what is in parentheses that an operand of && or || does not need.
func comparison(e ast.Expr) (ast.Expr, bool) {
	in, ok := e.(*ast.ParenExpr)
	if !ok {
		return nil, false
	}
	inner, ok := in.X.(*ast.BinaryExpr)
	return inner, ok && inner.Op.Precedence() > token.LAND.Precedence()
}

func constant(e ast.Expr) (value, ok bool) {
	name, ok := e.(*ast.Ident)
	if !ok {
		return false, false
	}
	return name.Name == "true", name.Name == "true" || name.Name == "false"
}

// scope is where a list of statements stands.
type scope struct {
	decl     ast.Decl
	function *ast.FuncType // nil if the list is not the body of a function
}

// statements simplifies the first statement of a list that can be simplified, or drops what is never reached.
func (t *text) statements(in scope, list []ast.Stmt) {
	for i, s := range list {
		seen := len(t.edits)
		switch s := s.(type) {
		case *ast.IfStmt:
			t.decided(s)
		case *ast.SwitchStmt:
			t.cases(s)
		case *ast.AssignStmt, *ast.DeclStmt:
			t.unused(in, list[:i], s)
		case *ast.BlockStmt:
			if !t.shadows(in.decl, s) {
				t.replace(s.Pos(), s.End(), strings.TrimSpace(t.between(s.Lbrace+1, s.Rbrace)))
			}
		}
		if len(t.edits) > seen {
			return
		}
		if i+1 < len(list) && ends(s) {
			t.replace(t.lineEnd(s.End()), t.lineEnd(list[len(list)-1].End()), "")
			return
		}
	}
}

// decided replaces an if whose condition is known by the branch that is taken.
func (t *text) decided(s *ast.IfStmt) {
	value, ok := constant(s.Cond)
	if !ok {
		return
	}
	if s.Init != nil {
		t.fail(s, "an if with a statement before its condition, which is a switch")
		return
	}
	taken, dropped := ast.Stmt(s.Body), s.Else
	if !value {
		taken, dropped = s.Else, s.Body
	}
	by := ""
	if dropped != nil {
		by = t.bugComments(dropped.Pos(), dropped.End())
	}
	if taken != nil {
		by = strings.TrimSpace(by + "\n" + t.of(taken))
	}
	t.replace(s.Pos(), s.End(), by)
}

// elseIf does the same with the if after an else.
func (t *text) elseIf(s *ast.IfStmt) {
	next, ok := s.Else.(*ast.IfStmt)
	if !ok {
		return
	}
	value, ok := constant(next.Cond)
	switch {
	case !ok:
	case next.Init != nil:
		t.fail(next, "an else if with a statement before its condition, which is a switch")
	case value:
		t.replace(next.Pos(), next.End(), t.of(next.Body))
	case next.Else != nil:
		t.replace(next.Pos(), next.End(), t.of(next.Else))
	default:
		t.replace(s.Body.End(), next.End(), "")
	}
}

// cases drops the first case of a switch that is never taken, or all after one that always is.
func (t *text) cases(s *ast.SwitchStmt) {
	if s.Tag != nil || s.Init != nil {
		return
	}
	for _, c := range s.Body.List {
		clause := c.(*ast.CaseClause)
		if len(clause.List) != 1 {
			continue
		}
		value, ok := constant(clause.List[0])
		switch {
		case !ok:
			continue
		case value:
			t.replace(clause.Pos(), clause.Colon, "default")
			if last := s.Body.List[len(s.Body.List)-1]; last != c {
				t.replace(t.lineEnd(c.End()), t.lineEnd(last.End()), "")
			}
		default:
			end := t.lineEnd(c.End())
			t.replace(c.Pos(), end, t.bugComments(c.Pos(), end))
		}
		return
	}
	if len(s.Body.List) == 0 {
		t.replace(s.Pos(), s.End(), "")
		return
	}
	if only := s.Body.List[0].(*ast.CaseClause); len(s.Body.List) == 1 && only.List == nil && !breaks(only) {
		t.replace(s.Pos(), only.Colon+1, "{")
	}
}

// breaks tells whether a clause may end its switch by break.
func breaks(clause *ast.CaseClause) (found bool) {
	ast.Inspect(clause, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BranchStmt:
			found = found || n.Tok == token.BREAK && n.Label == nil
		case *ast.ForStmt, *ast.RangeStmt, *ast.SelectStmt, *ast.SwitchStmt, *ast.FuncLit:
			return false
		}
		return true
	})
	return found
}

// unused drops the variables that a statement declares and nothing uses, and keeps what is called for them.
func (t *text) unused(in scope, before []ast.Stmt, s ast.Stmt) {
	var idle []*ast.Ident
	used := 0
	for _, name := range declares(s) {
		switch {
		case name.Name == "_":
		case occurrences(in.decl, name.Name) == 1:
			idle = append(idle, name)
		default:
			used++
		}
	}
	assign, ok := s.(*ast.AssignStmt)
	switch {
	case len(idle) == 0:
	case used == 0 && !acts(s):
		t.replace(s.Pos(), s.End(), "")
	case used == 0 && ok && isCall(assign.Rhs):
		t.replace(s.Pos(), s.End(), t.of(assign.Rhs[0]))
	case ok:
		t.blank(idle, assign, in.declares(before))
	}
}

// blank has a statement assign to the blank name. Without a new variable it is no declaration any more.
func (t *text) blank(idle []*ast.Ident, s *ast.AssignStmt, known map[string]bool) {
	fresh := false
	for _, name := range declares(s) {
		if slices.Contains(idle, name) {
			t.replace(name.Pos(), name.End(), "_")
		} else {
			fresh = fresh || name.Name != "_" && !known[name.Name]
		}
	}
	if !fresh {
		t.replace(s.TokPos, s.TokPos+token.Pos(len(":=")), "=")
	}
}

// declares returns the names that a list declares by its first statements, or as the body of its function.
func (in scope) declares(first []ast.Stmt) map[string]bool {
	known := map[string]bool{}
	for _, s := range first {
		for _, name := range declares(s) {
			known[name.Name] = true
		}
	}
	if in.function != nil {
		ast.Inspect(in.function, func(n ast.Node) bool {
			if f, ok := n.(*ast.Field); ok {
				for _, name := range f.Names {
					known[name.Name] = true
				}
			}
			return true
		})
	}
	return known
}

// isCall tells whether a value may stand alone as a statement.
func isCall(values []ast.Expr) bool {
	switch v := values[0].(type) {
	case *ast.CallExpr:
		return len(values) == 1
	case *ast.UnaryExpr:
		return v.Op == token.ARROW && len(values) == 1
	}
	return false
}

// acts tells whether a statement may do more than to set its variables.
func acts(s ast.Stmt) (found bool) {
	ast.Inspect(s, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			found = true
		case *ast.UnaryExpr:
			found = found || n.Op == token.ARROW
		}
		return true
	})
	return found
}

func occurrences(n ast.Node, name string) (found int) {
	ast.Inspect(n, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && id.Name == name {
			found++
		}
		return true
	})
	return found
}

// ends tells whether what stands behind a statement is never reached.
func ends(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.ReturnStmt:
		return true
	case *ast.BranchStmt:
		return s.Tok != token.FALLTHROUGH
	case *ast.BlockStmt:
		return len(s.List) > 0 && ends(s.List[len(s.List)-1])
	}
	return false
}

// shadows tells whether a block declares a name that its function uses outside of it, too: it has to remain a block.
func (t *text) shadows(decl ast.Decl, block *ast.BlockStmt) (found bool) {
	declared := map[string]bool{}
	for _, s := range block.List {
		for _, name := range declares(s) {
			declared[name.Name] = true
		}
	}
	ast.Inspect(decl, func(n ast.Node) bool {
		if name, ok := n.(*ast.Ident); ok {
			found = found || declared[name.Name]
		}
		return n != ast.Node(block)
	})
	return found
}

// declares lists the variables that a statement declares.
func declares(s ast.Stmt) (names []*ast.Ident) {
	switch s := s.(type) {
	case *ast.AssignStmt:
		if s.Tok == token.DEFINE {
			for _, e := range s.Lhs {
				names = append(names, e.(*ast.Ident))
			}
		}
	case *ast.DeclStmt:
		for _, spec := range s.Decl.(*ast.GenDecl).Specs {
			if v, ok := spec.(*ast.ValueSpec); ok {
				names = append(names, v.Names...)
			}
		}
	}
	return names
}
