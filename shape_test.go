package zktorture_test

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/zktorture/zktorture/internal/testkit"
)

const (
	mostFiles    = 30 // of a package, without tests
	mostMethods  = 60 // of a type
	mostFolders  = 15 // at the top
	mostInternal = 12 // packages in internal/
)

// mostNames is how many names a package may export at its top level.
var mostNames = map[string]int{"sim": 40, "workload": 70, "linearizability": 35, "fakezk": 45, "live": 30}

// above are the rules that are not kept yet, with the figures of today, which may only fall.
var above = map[string]int{
	"hundreds of KB of the module's files": 45,
}

// counted are the numbers that few has seen.
var counted = map[string]bool{}

// wantCounted reports rules of above that begin so, and are about what is not there any more.
func wantCounted(t *testing.T, prefix string) {
	t.Helper()
	for what := range above {
		if strings.HasPrefix(what, prefix) && !counted[what] {
			t.Errorf("%s: there is no such thing: take it out of above", what)
		}
	}
}

// few reports a number that is above a limit, or above today's figure where the limit is not reached yet.
func few(t *testing.T, n, most int, format string, args ...any) (ok bool) {
	t.Helper()
	what := fmt.Sprintf(format, args...)
	counted[what] = true
	today, exempt := above[what]
	switch {
	case exempt && n < today:
		t.Errorf("%s: %d now, and the limit of today is %d: lower it in above, or take it out", what, n, today)
	case n > max(most, today):
		t.Errorf("%s: %d; at most %d are allowed", what, n, max(most, today))
	default:
		return true
	}
	return false
}

// room is a package of one of the repository's modules.
type room struct {
	name  string      // as its files say
	files []*ast.File // without tests
	tests []*ast.File
}

// rooms are the packages by their folders. Folders named testdata are left out, as the go command does.
var rooms = sync.OnceValues(func() (map[string]*room, error) {
	all := map[string]*room{}
	for _, name := range strings.Fields(tracked("*.go")) {
		if strings.Contains("/"+name, "/testdata/") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		folder := path.Dir(name)
		r := all[folder]
		if r == nil {
			r = &room{}
			all[folder] = r
		}
		if strings.HasSuffix(name, "_test.go") {
			r.tests = append(r.tests, file)
		} else {
			r.name, r.files = file.Name.Name, append(r.files, file)
		}
	}
	if len(all) < 40 {
		return nil, fmt.Errorf("only %d packages were found", len(all))
	}
	return all, nil
})

func house(t *testing.T) map[string]*room {
	t.Helper()
	all, err := rooms()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// tracked are the files of the repository that match, one a line. Files that are about to be added count, too.
func tracked(pattern string) string {
	out, _ := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard", pattern).Output()
	var there []string
	for name := range strings.Lines(string(out)) {
		if name = strings.TrimSpace(name); isThere(name) {
			there = append(there, name)
		}
	}
	return strings.Join(there, "\n")
}

func isThere(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

func TestPackagesAreSmall(t *testing.T) {
	for folder, r := range house(t) {
		few(t, len(r.files), mostFiles, "Go files of %s", folder)
	}
	wantCounted(t, "Go files of ")
}

func TestTypesAreSmall(t *testing.T) {
	for folder, r := range house(t) {
		methods := map[string]map[string]bool{}
		for _, f := range functions(r.files) {
			if of := receiver(f); of != "" {
				if methods[of] == nil {
					methods[of] = map[string]bool{}
				}
				methods[of][f.Name.Name] = true
			}
		}
		for name, its := range methods {
			few(t, len(its), mostMethods, "methods of %s.%s", folder, name)
		}
	}
	wantCounted(t, "methods of ")
}

func functions(files []*ast.File) (all []*ast.FuncDecl) {
	for _, file := range files {
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				all = append(all, f)
			}
		}
	}
	return all
}

// receiver is the name of the type that a method belongs to, "" for a function.
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	for e := f.Recv.List[0].Type; ; {
		switch x := e.(type) {
		case *ast.StarExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.IndexListExpr:
			e = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

// The folders at the top are few, and each is explained by one sentence: a row of the table in ARCHITECTURE.md.
func TestFoldersAreExplained(t *testing.T) {
	explained := testkit.File(t, "docs/ARCHITECTURE.md")
	folders := map[string]bool{}
	for name := range strings.Lines(tracked("*")) {
		if folder, _, nested := strings.Cut(name, "/"); nested && !strings.HasPrefix(folder, ".") {
			folders[folder] = true
		}
	}
	for folder := range folders {
		if !strings.Contains(explained, "\n| `"+folder+"/` | ") {
			t.Errorf("docs/ARCHITECTURE.md has no row that begins | `%s/` |", folder)
		}
	}
	if len(folders) > mostFolders {
		t.Errorf("there are %d folders at the top; at most %d are allowed: %q", len(folders), mostFolders,
			slices.Sorted(maps.Keys(folders)))
	}
}

// The packages of internal/ are few, and each serves at least two others; the command is what Main is made of. What is
// below one of them belongs to it, and a folder with a go.mod is a module of its own.
func TestInternalIsShared(t *testing.T) {
	users, all := map[string]map[string]bool{}, house(t)
	for folder, r := range all {
		for imported := range imports(r.files, r.tests) {
			if users[imported] == nil {
				users[imported] = map[string]bool{}
			}
			users[imported][folder] = true
		}
	}
	n := 0
	for folder := range all {
		if path.Dir(folder) != "internal" || isThere(folder+"/go.mod") {
			continue
		}
		n++
		delete(users[folder], folder)
		if by := slices.Sorted(maps.Keys(users[folder])); len(by) < 2 && folder != "internal/cli" {
			t.Errorf("%s is used by %q only: it belongs there", folder, by)
		}
	}
	few(t, n, mostInternal, "packages of internal/")
}

// imports are the folders of this repository that files import, by the names that they give them: "" is the package's own.
func imports(lists ...[]*ast.File) map[string]string {
	all := map[string]string{}
	for _, file := range slices.Concat(lists...) {
		for _, s := range file.Imports {
			quoted, _ := strconv.Unquote(s.Path.Value)
			folder, ours := strings.CutPrefix(quoted+"/", module)
			if folder = cmp.Or(strings.TrimSuffix(folder, "/"), "."); !ours {
				continue
			}
			all[folder] = ""
			if s.Name != nil {
				all[folder] = s.Name.Name
			}
		}
	}
	return all
}

// What a package exports is used by another one, or is on the list of what users get, with a reason: docs/api.txt.
// Examples export what packages of users would.
func TestExportedNamesAreUsed(t *testing.T) {
	listed, used := publicAPI(t), uses(t)
	for folder, r := range house(t) {
		if r.name == "" || r.name == "main" || strings.HasPrefix(folder, "examples/") {
			continue
		}
		e := exportsOf(r)
		e.spread(used[folder])
		var unused []string
		for _, name := range slices.Sorted(maps.Keys(e.names)) {
			if of := folder + "." + name; !used[folder][name] && listed[of] == "" {
				unused = append(unused, name)
			}
		}
		if !few(t, len(unused), 0, "names of %s that nothing outside uses", folder) {
			t.Logf("%s: unexport them, or say in docs/api.txt why users need them: %q", folder, unused)
		}
		for name := range listed {
			if at, what, _ := cutLast(name, "."); at == folder && !e.names[what] {
				t.Errorf("docs/api.txt lists %s, which is not there", name)
			}
		}
		if most := mostNames[folder]; most > 0 {
			few(t, len(e.names), most, "names that %s exports", folder)
		}
	}
	wantCounted(t, "names ")
}

func cutLast(s, separator string) (before, after string, found bool) {
	i := strings.LastIndex(s, separator)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(separator):], true
}

// publicAPI is the list of names that users need and this repository does not: folder.Name and a reason, one a line.
func publicAPI(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for line := range strings.Lines(testkit.File(t, "docs/api.txt")) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, reason, _ := strings.Cut(line, " ")
		if all[name] = strings.TrimSpace(reason); all[name] == "" {
			t.Errorf("docs/api.txt gives no reason for %s", name)
		}
	}
	return all
}

// uses are the names that each folder's package is asked for by others, tests included.
func uses(t *testing.T) map[string]map[string]bool {
	all, used := house(t), map[string]map[string]bool{}
	for folder, r := range all {
		for _, file := range slices.Concat(r.files, r.tests) {
			names := map[string]string{} // of packages, as this file calls them
			for imported, name := range imports([]*ast.File{file}) {
				if other := all[imported]; imported != folder && other != nil {
					if name == "" {
						name = other.name
					}
					names[name] = imported
				}
			}
			ast.Inspect(file, func(n ast.Node) bool {
				s, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				if x, ok := s.X.(*ast.Ident); ok && names[x.Name] != "" {
					if used[names[x.Name]] == nil {
						used[names[x.Name]] = map[string]bool{}
					}
					used[names[x.Name]][s.Sel.Name] = true
				}
				return true
			})
		}
	}
	return used
}

// exports are the names that a package exports at its top level.
type exports struct {
	names  map[string]bool
	needs  map[string][]string // names that stand in the exported part of a name's declaration
	groups [][]string          // constants that are declared together
}

func exportsOf(r *room) *exports {
	e := &exports{map[string]bool{}, map[string][]string{}, nil}
	for _, f := range functions(r.files) {
		if of := receiver(f); f.Name.IsExported() && of != "" {
			e.need(of, f.Type)
		} else if f.Name.IsExported() {
			e.names[f.Name.Name] = true
			e.need(f.Name.Name, f.Type)
		}
	}
	for _, file := range r.files {
		for _, d := range file.Decls {
			if d, ok := d.(*ast.GenDecl); ok {
				e.declared(d)
			}
		}
	}
	return e
}

func (e *exports) declared(d *ast.GenDecl) {
	var group []string
	for _, spec := range d.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			e.names[s.Name.Name] = e.names[s.Name.Name] || s.Name.IsExported()
			e.need(s.Name.Name, exportedPart(s.Type))
		case *ast.ValueSpec:
			for _, name := range s.Names {
				if name.IsExported() {
					e.names[name.Name] = true
					group = append(group, name.Name)
					if s.Type != nil {
						e.need(name.Name, s.Type)
					}
				}
			}
		}
	}
	if d.Tok == token.CONST {
		e.groups = append(e.groups, group)
	}
	maps.DeleteFunc(e.names, func(_ string, exported bool) bool { return !exported })
}

// exportedPart is a type without the fields that are not exported.
func exportedPart(of ast.Expr) ast.Node {
	s, ok := of.(*ast.StructType)
	if !ok {
		return of
	}
	part := &ast.FieldList{}
	for _, field := range s.Fields.List {
		if len(field.Names) == 0 || slices.ContainsFunc(field.Names, (*ast.Ident).IsExported) {
			part.List = append(part.List, field)
		}
	}
	return &ast.StructType{Fields: part}
}

func (e *exports) need(name string, in ast.Node) {
	ast.Inspect(in, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && id.IsExported() {
			e.needs[name] = append(e.needs[name], id.Name)
		}
		return true
	})
}

// spread has what used names need be used, too: types of their parameters, results, fields and methods, and constants
// that are declared together with one that is used.
func (e *exports) spread(used map[string]bool) {
	for more := true; more; {
		more = false
		mark := func(name string) {
			if e.names[name] && !used[name] {
				used[name], more = true, true
			}
		}
		for name := range maps.Clone(used) {
			for _, needed := range e.needs[name] {
				mark(needed)
			}
		}
		for _, group := range e.groups {
			if slices.ContainsFunc(group, func(name string) bool { return used[name] }) {
				for _, name := range group {
					mark(name)
				}
			}
		}
	}
}

// Kinds are made of recipes, and do not know how a violation is told.
func TestWorkloadKnowsNoStory(t *testing.T) {
	for folder := range imports(house(t)["workload"].files) {
		if folder == "story" || strings.HasPrefix(folder, "story/") {
			t.Errorf("workload imports %s", folder)
		}
	}
}
