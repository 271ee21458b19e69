package schemas

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

// source is what reflection does not know of types: the comments of them and their fields, and the constants of named
// strings. The keys are the path of a package, a point and a name; of a field, a point and its name besides.
type source struct {
	comments map[string]string
	enums    map[string][]any
}

const module = "github.com/zktorture/zktorture"

// readSource reads the packages of a module's folders.
func readSource(root string, packages ...string) (*source, error) {
	s := &source{map[string]string{}, map[string][]any{}}
	for _, dir := range packages {
		files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(dir), "*.go"))
		if err != nil || len(files) == 0 {
			return nil, fmt.Errorf("%s: no Go files, %v", dir, err)
		}
		for _, name := range files {
			if err := s.read(module+"/"+dir, name); err != nil {
				return nil, err
			}
		}
	}
	return s, nil
}

func (s *source) read(pkg, name string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments)
	if err != nil {
		return err
	}
	for _, decl := range file.Decls {
		if general, ok := decl.(*ast.GenDecl); ok {
			for _, spec := range general.Specs {
				s.spec(pkg+".", general, spec)
			}
		}
	}
	return nil
}

func (s *source) spec(prefix string, decl *ast.GenDecl, spec ast.Spec) {
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		s.comment(prefix+spec.Name.Name, decl.Doc, spec.Doc, spec.Comment)
		if structure, ok := spec.Type.(*ast.StructType); ok {
			for _, field := range structure.Fields.List {
				for _, name := range field.Names {
					s.comment(prefix+spec.Name.Name+"."+name.Name, field.Doc, field.Comment)
				}
			}
		}
	case *ast.ValueSpec:
		of, ok := spec.Type.(*ast.Ident)
		if !ok || decl.Tok != token.CONST {
			return
		}
		for _, value := range spec.Values {
			if literal, ok := value.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				text, _ := strconv.Unquote(literal.Value)
				s.enums[prefix+of.Name] = append(s.enums[prefix+of.Name], text)
			}
		}
	}
}

var links = regexp.MustCompile(`\[([A-Za-z.]+)\]`)

// comment notes the first comment that there is.
func (s *source) comment(of string, groups ...*ast.CommentGroup) {
	for _, g := range groups {
		if text := strings.Join(strings.Fields(g.Text()), " "); text != "" {
			s.comments[of] = links.ReplaceAllString(text, "$1")
			return
		}
	}
}

// of is the comment of a type, or of a field if there is one.
func (s *source) of(t reflect.Type, field string) string {
	name := t.PkgPath() + "." + t.Name()
	if field != "" {
		name += "." + field
	}
	return s.comments[name]
}
