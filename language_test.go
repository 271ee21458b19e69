package zktorture_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/internal/testkit"
)

// Words that this project once had of its own, and for which the field has terms. A coined word is wrong wherever it
// stands. A borrowed one is an ordinary word that had a meaning of its own here; as a name it stays (see isName).
var (
	coined = regexp.MustCompile(`(?i)\b(turnstiles?|torment(s|ed|ors?)?|badday|menu ?takers?|sooth(e|es|ed|ing)|weavers?|` +
		`plain ?lines?|outcome3|servers of yours|chosen anew|somebody stirs|fixed twins?|accused twins?|faults struck:|` +
		`corruptions of what)\b`)
	// sentences needed a second reading; what is said now is in plain words.
	sentences = regexp.MustCompile(`(?i)recipe itself has to deal with|lies in (its|their) channels?|left to chance|` +
		`random continuations|break it from here|servers have carried out|who waits for whom|not yet given back|` +
		`what it takes with it|at any moment of it|goes on as the owner|passed over by a later|that operation is over and|` +
		`of the ways offered|these servers do not show|because of their tokens|last trouble|nothing is remembered of|` +
		`equal clients equal faults|the greatest number of|that is there is replaced|all that the backend has|` +
		`which implementation: a name|being let in|going easy|hurts connections|deals the units|notices the dead|` +
		`looks at no tokens|what one types|checked in these too|as long as is useful|whether the last of these|` +
		`two commands to know|what came of it|only the clients are tortured`)
	borrowed = regexp.MustCompile(`(?i)\b(bad days?|blows?|calm(er|est|ly)?|conductors?|flavou?rs?|in office|` +
		`an office|lanes?|mend(s|ed|ing)?|settle[sd]?|wish(es)?)\b`)
)

// isName tells names from prose: a name has no space in it. Names of fields, flags, steps of a trace, choices, classes
// of a style sheet and files are contracts with files and programs that exist.
func isName(s string) bool { return !strings.ContainsAny(strings.TrimSpace(s), " \n") }

// retired returns the retired words of a text.
func retired(text string) []string {
	words := append(coined.FindAllString(text, -1), sentences.FindAllString(strings.Join(strings.Fields(text), " "), -1)...)
	if !isName(text) {
		words = append(words, borrowed.FindAllString(text, -1)...)
	}
	return words
}

// seen is a text that users see, and where it stands.
type seen struct{ where, text string }

// TestRetiredWords checks what users see: pages, assets of pages and of shells, messages and help in the code, and the
// documentation of packages that can be imported.
func TestRetiredWords(t *testing.T) {
	texts := append(seenInAssets(t), seenInCode(t)...)
	for name, text := range pages(t) {
		texts = append(texts, seen{name, code.ReplaceAllString(text, "")})
	}
	for _, s := range texts {
		for _, word := range retired(s.text) {
			t.Errorf("%s says %q: take the field's term", s.where, word)
		}
	}
	if len(texts) < 10_000 {
		t.Errorf("only %d texts were looked at", len(texts))
	}
}

// unseen are the folders whose files no user sees as text of this project: data of tests, other people's recipes,
// measurements as they were taken, tools of developers.
var unseen = regexp.MustCompile(`(^|/)(\.git|testdata|node_modules|out|fakezk/conformance/suites)$|^(zoo/foreign|results|internal/tools|campaign/deploy|docs)$`)

// files are the files of the repository with one of the endings.
func files(t *testing.T, endings ...string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		name = filepath.ToSlash(name)
		if err != nil || entry.IsDir() && !unseen.MatchString(name) {
			return err
		}
		if entry.IsDir() {
			return fs.SkipDir
		}
		for _, ending := range endings {
			if strings.HasSuffix(name, ending) {
				all = append(all, name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// notShown is what assets hold beside text for people: classes and selectors of styles.
var notShown = regexp.MustCompile(`\bclass="[^"]*"|\.[a-z]+`)

func seenInAssets(t *testing.T) (all []seen) {
	t.Helper()
	for _, name := range files(t, ".html", ".js", ".tmpl", ".bash", ".zsh", ".fish") {
		if filepath.Base(name) != "uplot.js" { // of another project
			all = append(all, seen{name, notShown.ReplaceAllString(testkit.File(t, name), "")})
		}
	}
	return all
}

func seenInCode(t *testing.T) (all []seen) {
	t.Helper()
	fset := token.NewFileSet()
	for _, name := range files(t, ".go") {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		file, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if ast.IsGenerated(file) {
			continue
		}
		at := func(n ast.Node, text string) { all = append(all, seen{fset.Position(n.Pos()).String(), text}) }
		messages(file, at)
		if !strings.Contains("/"+name, "/internal/") {
			docstrings(file, at)
		}
	}
	return all
}

// messages hands out the string literals of a file, and of tags what is for people: help and placeholders.
func messages(file *ast.File, at func(ast.Node, string)) {
	tags := map[*ast.BasicLit]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			if n.Tag != nil {
				tags[n.Tag] = true
				tag := reflect.StructTag(unquoted(n.Tag))
				at(n.Tag, tag.Get("help"))
				at(n.Tag, tag.Get("placeholder"))
			}
		case *ast.BasicLit:
			if n.Kind == token.STRING && !tags[n] {
				at(n, unquoted(n))
			}
		}
		return true
	})
}

func unquoted(literal *ast.BasicLit) string {
	text, _ := strconv.Unquote(literal.Value)
	return text
}

// docstrings hands out what go doc shows of a file.
func docstrings(file *ast.File, at func(ast.Node, string)) {
	ast.FileExports(file)
	ast.Inspect(file, func(n ast.Node) bool {
		if comment, ok := n.(*ast.CommentGroup); ok {
			at(comment, comment.Text())
		}
		_, body := n.(*ast.BlockStmt)
		return !body
	})
}
