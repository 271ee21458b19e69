package console

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/zktorture/zktorture/cmd/internal/cli/exact"
	"github.com/zktorture/zktorture/sim"
)

// selfVariable tells the build in exact mode how the user calls this command.
const selfVariable = "ZKTORTURE_SELF"

// mainVariable tells a program that was built with -trimpath where its function main stands.
const mainVariable = "ZKTORTURE_MAIN"

// Exactly has this command line carried out by a build of this program in exact mode, in the place of this process. In
// that build it does nothing.
func (c *Context) Exactly() error {
	if sim.Exact() {
		return nil
	}
	p, err := thisProgram(c.MainFile)
	if err != nil {
		return err
	}
	build, err := exact.Prepare(c)
	if err != nil {
		return err
	}
	binary, err := p.build(c, build)
	if err != nil {
		return err
	}
	return Become(c, append(os.Environ(), selfVariable+"="+c.Self), binary, c.Args...)
}

// ownProgram is how to build this program anew.
type ownProgram struct {
	pkg     string   // its package main
	version string   // of its module, if it was installed from one
	dir     string   // of its sources, if it was built from a checkout
	flags   []string // with which it was built
	tags    string
}

// thisProgram says how to build this program. mainFile is where its function main stands.
func thisProgram(mainFile string) (*ownProgram, error) {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Path == "" {
		return nil, errors.New("exact mode has to rebuild this program, and the program does not record what it was built from: " +
			"build it with go build, go install or go run")
	}
	p := &ownProgram{pkg: info.Path}
	for _, s := range info.Settings {
		switch {
		case s.Key == "-tags":
			p.tags = s.Value
		case s.Key == "-race" && s.Value == "true":
			p.flags = append(p.flags, "-race")
		}
	}
	_, err := os.Stat(mainFile)
	inCache := strings.Contains(mainFile, "@"+info.Main.Version+"/")
	switch {
	case err == nil && filepath.IsAbs(mainFile) && !inCache:
		p.dir = filepath.Dir(mainFile)
	case strings.HasPrefix(info.Main.Version, "v") && !strings.Contains(info.Main.Version, "+dirty"):
		p.version = info.Main.Version
	default:
		return nil, fmt.Errorf("exact mode has to rebuild this program (%s), but its sources in %s are missing, "+
			"and its version is %q: build it on this machine, or install a released version",
			p.pkg, cmp.Or(filepath.Dir(mainFile), "the folder"), info.Main.Version)
	}
	return p, nil
}

// build builds the program in exact mode, and returns the name of the file. The go command does only what has not been
// done.
func (p *ownProgram) build(c *Context, b *exact.Build) (binary string, err error) {
	dir, err := exact.Dir()
	if err != nil {
		return "", err
	}
	h := fnv.New64a()
	fmt.Fprint(h, *p, b.Version)
	dir = filepath.Join(dir, "bin", fmt.Sprintf("%016x", h.Sum64()))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	flags := append(p.flags, "-overlay="+b.Overlay, "-tags="+strings.TrimPrefix(p.tags+","+exact.Tag, ","))
	cmd := exec.CommandContext(c, "go", append(append([]string{"install"}, flags...), p.pkg+"@"+p.version)...)
	cmd.Env = append(b.Env, "GOBIN="+dir)
	if p.dir != "" {
		cmd = exec.CommandContext(c, "go", append(append([]string{"build"}, flags...), "-o", dir, ".")...)
		cmd.Dir, cmd.Env = p.dir, append(b.Env, "PWD="+p.dir)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("exact mode could not build %s: %w\n%s", p.pkg, err, bytes.TrimSpace(out))
	}
	return onlyFile(dir)
}

func onlyFile(dir string) (string, error) {
	files, err := os.ReadDir(dir)
	if err == nil && len(files) != 1 {
		err = fmt.Errorf("exact mode expected one program in %s and found %d: remove the folder", dir, len(files))
	}
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, files[0].Name()), nil
}
