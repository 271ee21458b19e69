// Package scaffold is the command torture new.
package scaffold

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	"github.com/zktorture/zktorture/cmd/internal/manual"
	"github.com/zktorture/zktorture/internal/wholefile"
)

// Manual is what --help says of the command beside its flags.
var Manual = manual.Entry{
	Statuses: []manual.Status{{Code: console.ExitOK, Meaning: "The files were written."},
		{Code: console.ExitUnknown, Meaning: "There was an error."}},
	Examples: []manual.Example{
		{Meaning: "Write an example lock and its test, in a folder of your module.", Line: "torture new lock mylock"},
		{Meaning: "Write a kind of your own.", Line: "torture new --own highscore highscore"},
	},
}

// NewCmd writes a recipe or a kind and its test, to begin with.
type NewCmd struct {
	Kind string `arg:"" optional:"" help:"The kind, as torture list kinds names it; with --own, the folder."`
	Dir  string `arg:"" optional:"" help:"The folder of the package, in your module. By default this one."`
	Own  string `placeholder:"NAME" help:"Write a kind of your own, of this name."`
}

func (n *NewCmd) Run(c *console.Context) error {
	what, given := n.Kind, cmp.Or(n.Dir, ".")
	if n.Own != "" {
		what, given = "kind", cmp.Or(n.Kind, ".")
	}
	dir, err := filepath.Abs(given)
	if err != nil {
		return err
	}
	texts, err := n.texts(packageName(filepath.Base(dir), "my"+cmp.Or(n.Own, n.Kind)))
	if err != nil {
		return err
	}
	var files []string
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		files = append(files, filepath.Join(given, name))
	}
	if err := absent(files); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, file := range files {
		if err := wholefile.Write(file, []byte(texts[filepath.Base(file)])); err != nil {
			return err
		}
		fmt.Fprintln(c.Stdout, file)
	}
	fmt.Fprintf(c.Stdout, "\nThis %s has a bug. Run its test to see it:\n\n  go test %s\n", what, packagePath(given))
	return nil
}

// texts are what is asked for, as a package of that name: files by their names.
func (n *NewCmd) texts(packageName string) (map[string]string, error) {
	switch known := kinds(); {
	case n.Own == "" && !slices.Contains(known, n.Kind):
		return nil, fmt.Errorf("there is no kind %q: name one of %s, or your own by --own", n.Kind, strings.Join(known, ", "))
	case n.Own == "":
		return first(n.Kind, packageName), nil
	case n.Dir != "":
		return nil, errors.New("--own NAME takes a folder, and no kind: leave one of the two out")
	case !ownName.MatchString(n.Own) || token.IsKeyword(n.Own) || slices.Contains(append(known, "new", "kind"), n.Own):
		return nil, fmt.Errorf("%q cannot be the name of a kind: take lower-case letters and digits, and no name that is taken", n.Own)
	}
	return own(n.Own, packageName), nil
}

// embedded has a recipe of each kind, and its test; the lock is the first step of examples/tutorial. And it has a kind.
//
//go:embed kinds own
var embedded embed.FS

// ownName is what a kind can be called, and its type and its file.
var ownName = regexp.MustCompile(`^[a-z][a-z0-9]*$`)

// kinds are those of which there is a recipe.
func kinds() (names []string) {
	files, _ := fs.Glob(embedded, "kinds/*_test.go.txt") // the pattern is in order
	for _, file := range files {
		names = append(names, strings.TrimSuffix(path.Base(file), "_test.go.txt"))
	}
	return names
}

// written are the files that templates become, by their names.
func written(pattern string, names *strings.Replacer) map[string]string {
	texts := map[string]string{}
	files, _ := fs.Glob(embedded, pattern)
	for _, file := range files {
		text, _ := embedded.ReadFile(file) // it is there
		texts[names.Replace(strings.TrimSuffix(path.Base(file), ".txt"))] = names.Replace(string(text))
	}
	return texts
}

// first is a recipe of a kind and its test, as a package of that name.
func first(kind, name string) map[string]string {
	mine := "my" + kind
	names := strings.NewReplacer("Package "+mine, "Package "+name, "package "+mine, "package "+name)
	texts := written("kinds/"+kind+".go.txt", names)
	maps.Copy(texts, written("kinds/"+kind+"_test.go.txt", names))
	return texts
}

// own is a kind of one's own, as a package of that name.
func own(kind, name string) map[string]string {
	return written("own/*", strings.NewReplacer("Package mykind", "Package "+name, "package mykind", "package "+name,
		"mykind.Kind", name+".Kind", "mykind", kind, "Mykind", strings.ToUpper(kind[:1])+kind[1:]))
}

// absent says which of some files is there already.
func absent(files []string) error {
	for _, file := range files {
		_, err := os.Lstat(file)
		switch {
		case err == nil:
			return fmt.Errorf("%s exists already and is not overwritten: name another folder", file)
		case !errors.Is(err, os.ErrNotExist):
			return console.OfFile(file, err)
		}
	}
	return nil
}

// packageName makes the name of a package of that of a folder; another if it cannot be one.
func packageName(folder, otherwise string) string {
	if token.IsIdentifier(folder) {
		return strings.ToLower(folder)
	}
	return otherwise
}

// packagePath is a folder as the go command wants it.
func packagePath(dir string) string {
	if filepath.IsAbs(dir) || strings.HasPrefix(dir, ".") {
		return dir
	}
	return "./" + filepath.ToSlash(dir)
}
