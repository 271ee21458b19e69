// Package scaffold makes the command torture new. A main function imports it for that alone.
package scaffold

import (
	"embed"
	"errors"
	"fmt"
	"go/token"
	"os"
	"path/filepath"
	"strings"

	"github.com/zktorture/zktorture/internal/cli"
	"github.com/zktorture/zktorture/internal/cli/console"
	"github.com/zktorture/zktorture/internal/manual"
	"github.com/zktorture/zktorture/internal/wholefile"
)

func init() { cli.Extend(func() any { return new(commands) }, said) }

type commands struct {
	New newCmd `cmd:"" group:"everyday" help:"Write an example lock and its test, to be replaced by your own."`
}

var said = manual.Manual{"new": {
	Statuses: []manual.Status{{Code: console.ExitOK, Meaning: "The files were written."},
		{Code: console.ExitUnknown, Meaning: "There was an error."}},
	Examples: []manual.Example{
		{Meaning: "Write an example lock and its test, in a folder of your module.", Line: "torture new lock mylock"},
	},
}}

// newCmd writes a lock and its test, to begin with.
type newCmd struct {
	Kind string `arg:"" name:"what" enum:"lock" help:"What to write: lock."`
	Dir  string `arg:"" optional:"" default:"." help:"The folder of the package, in your module (${default})."`
}

// Run executes the command.
func (n *newCmd) Run(c *console.Context) error {
	dir, err := filepath.Abs(n.Dir)
	if err != nil {
		return err
	}
	name := packageName(filepath.Base(dir))
	files := []string{filepath.Join(n.Dir, "lock.go"), filepath.Join(n.Dir, "lock_test.go")}
	if err := absent(files); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, file := range files {
		if err := wholefile.Write(file, []byte(firstLock(filepath.Base(file), name))); err != nil {
			return err
		}
		fmt.Fprintln(c.Stdout, file)
	}
	fmt.Fprintf(c.Stdout, "\nThis lock has a bug. Run its test to see it:\n\n  go test %s\n", packagePath(n.Dir))
	return nil
}

// kinds has the first step of examples/tutorial.
//
//go:embed kinds
var kinds embed.FS

// firstLock is a file of the lock to begin with, lock.go or lock_test.go, as one of a package of that name.
func firstLock(file, packageName string) string {
	text, _ := kinds.ReadFile("kinds/" + file + ".txt") // it is there
	return strings.NewReplacer("Package mylock", "Package "+packageName, "package mylock", "package "+packageName).
		Replace(string(text))
}

// absent says which of some files is there already.
func absent(files []string) error {
	for _, file := range files {
		_, err := os.Lstat(file)
		switch {
		case err == nil:
			return fmt.Errorf("%s exists already and is not overwritten: name another folder", file)
		case !errors.Is(err, os.ErrNotExist):
			return err
		}
	}
	return nil
}

// packageName makes the name of a package of that of a folder; mylock if it cannot be one.
func packageName(folder string) string {
	if token.IsIdentifier(folder) {
		return strings.ToLower(folder)
	}
	return "mylock"
}

// packagePath is a folder as the go command wants it.
func packagePath(dir string) string {
	if filepath.IsAbs(dir) || strings.HasPrefix(dir, ".") {
		return dir
	}
	return "./" + filepath.ToSlash(dir)
}
