package runner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/zktorture/zktorture/internal/escape"
)

// build is how a program is built.
type build struct {
	folder  string // in which the go command runs
	main    string // the package, as the go command takes it
	version string // of Go; "": any
	file    string // that is made
	bin     string // where go install writes
}

// reproducible are flags by which a program does not depend on where it is built: not on the folder, nor on what
// version control knows of it there, such as its tags.
var reproducible = []string{"-trimpath", "-buildvcs=false"}

// fromSources builds a program from the sources in the folder.
func (b build) fromSources(ctx context.Context) error {
	_, err := b.command(ctx, append(append([]string{"build"}, reproducible...), "-o", b.file, b.main)...)
	return err
}

// source is a file of the package, and the package's name.
func (b build) source(ctx context.Context) (file, name string, err error) {
	const format = "{{.Name}} {{.Dir}}" + string(filepath.Separator) + "{{index .GoFiles 0}}"
	out, err := b.command(ctx, "list", "-f", format, b.main)
	name, file, _ = strings.Cut(out, " ")
	return file, name, err
}

// fromModule builds a package of a module by its path and version.
func (b build) fromModule(ctx context.Context) error {
	bin, err := os.MkdirTemp(filepath.Dir(b.file), "bin-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(bin)
	b.folder, b.bin = bin, bin
	if _, err := b.command(ctx, append(append([]string{"install"}, reproducible...), b.main)...); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(bin, "*"))
	if err != nil || len(files) != 1 {
		return fmt.Errorf("go install %s left %d files in %s", b.main, len(files), bin)
	}
	return os.Rename(files[0], b.file)
}

// command runs the go command. Without CGO_ENABLED in the environment there is no cgo: else the program would depend
// on the C compiler that is there.
func (b build) command(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = b.folder
	cmd.Env = append(os.Environ(), "GOBIN="+b.bin)
	if b.version != "" {
		cmd.Env = append(cmd.Env, "GOTOOLCHAIN="+b.version)
	}
	if os.Getenv("CGO_ENABLED") == "" {
		cmd.Env = append(cmd.Env, "CGO_ENABLED=0")
	}
	out, err := output(cmd)
	if errors.Is(err, exec.ErrNotFound) {
		err = errors.New("a program that the plan wants is to be built, and there is no go command: install Go, or " +
			"take the program from the coordinator's machine")
	} else if err != nil {
		err = fmt.Errorf("a program that the plan wants cannot be built: %s%s: %w", b.toolchain(),
			strings.Join(cmd.Args, " "), err)
	}
	return strings.TrimSpace(string(out)), err
}

func (b build) toolchain() string {
	if b.version == "" {
		return ""
	}
	return "GOTOOLCHAIN=" + b.version + " "
}

// output runs a command and returns what it printed. An error has what it said.
func output(cmd *exec.Cmd) ([]byte, error) {
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil && said.Len() > 0 {
		err = fmt.Errorf("%w\n%s", err, escape.Text(brief(strings.TrimSpace(said.String()))))
	}
	return out, err
}

// self is this command's package.
const self = "github.com/zktorture/zktorture/cmd/internal/campaign/torture-campaign"

// thisCommand says how to build this command from what this program was built from.
func thisCommand() (b build, versioned bool, err error) {
	_, file, _, _ := runtime.Caller(0)
	b = build{folder: filepath.Join(filepath.Dir(file), ".."), main: "."}
	if _, err := os.Stat(b.folder); err == nil && filepath.IsAbs(file) {
		return b, false, nil
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range append(info.Deps, &info.Main) {
			if m.Path == path.Dir(self) && m.Replace == nil && strings.HasPrefix(m.Version, "v") {
				return build{main: self + "@" + m.Version}, true, nil
			}
		}
	}
	return b, false, fmt.Errorf("the plan wants versions of Go, and this program does not know from "+
		`what it was built: build it in a checkout of %s, or write a package main of your own into the plan's field "main"`, path.Dir(path.Dir(self)))
}
