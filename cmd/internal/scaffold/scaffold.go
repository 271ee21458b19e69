// Package scaffold is the command torture new.
package scaffold

import (
	"embed"
	"errors"
	"fmt"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
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
	},
}

// NewCmd writes a recipe and its test, to begin with.
type NewCmd struct {
	Kind string `arg:"" help:"The kind: lock, queue, election, counter or registry."`
	Dir  string `arg:"" optional:"" default:"." help:"The folder of the package, in your module. By default this one."`
}

// Run executes the command.
func (n *NewCmd) Run(c *console.Context) error {
	dir, err := filepath.Abs(n.Dir)
	if err != nil {
		return err
	}
	if err := console.Known("kind", n.Kind, kinds()); err != nil {
		return err
	}
	texts := first(n.Kind, packageName(filepath.Base(dir), "my"+n.Kind))
	var files []string
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		files = append(files, filepath.Join(n.Dir, name))
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
	fmt.Fprintf(c.Stdout, "\nThis %s has a bug. Run its test to see it:\n\n  go test %s\n", n.Kind, packagePath(n.Dir))
	return nil
}

// embedded has a recipe of each kind, and its test; the lock is the first step of examples/tutorial.
//
//go:embed kinds
var embedded embed.FS

// kinds are those of which there is a recipe.
func kinds() (names []string) {
	files, _ := fs.Glob(embedded, "kinds/*_test.go.txt") // the pattern is in order
	for _, file := range files {
		names = append(names, strings.TrimSuffix(path.Base(file), "_test.go.txt"))
	}
	return names
}

// first is a recipe of a kind and its test, as a package of that name: texts by the names of their files.
func first(kind, name string) map[string]string {
	mine := "my" + kind
	names := strings.NewReplacer("Package "+mine, "Package "+name, "package "+mine, "package "+name)
	texts := map[string]string{}
	for _, file := range []string{kind + ".go", kind + "_test.go"} {
		text, _ := embedded.ReadFile("kinds/" + file + ".txt") // it is there
		texts[file] = names.Replace(string(text))
	}
	return texts
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
