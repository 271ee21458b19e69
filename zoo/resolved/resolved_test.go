package resolved_test

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/format"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/internal/thorough"
	"github.com/zktorture/zktorture/zoo"
	"github.com/zktorture/zktorture/zoo/published"
	"github.com/zktorture/zktorture/zoo/resolved"
)

// switches are what must not be left, but for comments.
var switches = regexp.MustCompile(`(?m)^\s*[^/\s].*\bbugs\.(Has|Later)\(`)

// Each animal but the canaries is code that was published, with its bug marked, and a fix that is not the same. A
// canary is planted in the zoo itself.
func TestEveryAnimalHasASource(t *testing.T) {
	for _, a := range zoo.Animals() {
		functions, err := resolved.Functions(a.Bugs)
		if err != nil {
			t.Fatal(err)
		}
		if canary := a.Rate > 0; (len(functions) == 0) != canary {
			t.Errorf("%s differs from its fix in %d functions; canary: %v", a.ID, len(functions), canary)
		}
		marked := a.Rate > 0
		for _, f := range functions {
			marked = marked || marks(f.Published, a.ID)
			if f.Published == f.Fixed || strings.Contains(f.Fixed, "BUG") {
				t.Errorf("%s, %s: it is no fix:\n%s", a.ID, f.Name, f.Fixed)
			}
			for _, text := range []string{f.Published, f.Fixed} {
				checkText(t, a.ID+", "+f.Name, text)
			}
		}
		if !marked {
			t.Errorf("%s: nothing of what differs is marked BUG: %[1]s", a.ID)
		}
	}
}

// marks tells whether a comment BUG in a text names a bug.
func marks(text, id string) bool {
	for line := range strings.Lines(text) {
		if i := strings.Index(line, "// BUG"); i >= 0 && slices.Contains(resolved.BugsOf(line[i:]), id) {
			return true
		}
	}
	return false
}

// checkText fails the test if a declaration has switches left, or is not formatted.
func checkText(t *testing.T, what, text string) {
	t.Helper()
	formatted, err := format.Source([]byte(text))
	if err != nil || string(formatted) != text {
		t.Errorf("%s: %v, or not formatted:\n%s", what, err, text)
	}
	if switches.MatchString(text) {
		t.Errorf("%s: switches are left:\n%s", what, text)
	}
}

// What is shown is a program: of what was published, of what is fixed, and of each fourth animal; of each with
// ZKTORTURE_THOROUGH=all.
func TestResolvedSourceCompiles(t *testing.T) {
	c := newCompiler(t)
	c.compile(published.NoBugs())
	c.compile(published.AllBugs())
	if testing.Short() {
		return
	}
	for i, a := range zoo.Animals() {
		if i%4 == 0 || thorough.All() {
			c.compile(a.Bugs)
		}
	}
}

type compiler struct {
	*testing.T
	fset   *token.FileSet
	config types.Config
	parsed map[string]*ast.File
}

func newCompiler(t *testing.T) *compiler {
	c := &compiler{T: t, fset: token.NewFileSet(), parsed: map[string]*ast.File{}}
	exports := exportData(t)
	open := func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
	c.config.Importer = importer.ForCompiler(c.fset, "gc", open)
	c.config.Error = func(err error) { t.Error(err) }
	return c
}

// exportData says for each package that package published imports where the compiler has left what it exports.
func exportData(t *testing.T) map[string]string {
	t.Helper()
	list := exec.CommandContext(t.Context(),
		"go", "list", "-export", "-deps", "-json=ImportPath,Export", "../published")
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	exports := map[string]string{}
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var p struct{ ImportPath, Export string }
		if err := d.Decode(&p); err != nil {
			t.Fatal(err)
		}
		exports[p.ImportPath] = p.Export
	}
	return exports
}

func (c *compiler) compile(bugs published.Bugs) {
	c.Helper()
	var files []*ast.File
	for _, name := range published.Files() {
		text, err := resolved.File(name, bugs)
		if err != nil {
			c.Fatal(err)
		}
		checkText(c.T, name+" with "+bugs.String(), text)
		file, known := c.parsed[text]
		if !known {
			file, err = parser.ParseFile(c.fset, name+" with "+bugs.String(), text, parser.SkipObjectResolution)
			if err != nil {
				c.Fatal(err)
			}
			c.parsed[text] = file
		}
		files = append(files, file)
	}
	c.config.Check("published", c.fset, files, nil)
}
