// Package checkout tells where the user's code is on this machine: the modules that a program runs in, and the repository
// that they are of. go test runs the tests of a package in its folder, and code hosts name files from the root of the
// repository.
package checkout

import (
	"os"
	"path/filepath"
	"regexp"
)

// Checkout is a repository on this machine.
type Checkout struct {
	// Root is its folder: what GitHub says, else the folder with .git, else that of the outermost module, else the one
	// that it was found from. It is "" if even that is not known.
	Root    string
	Modules []Module // those that the folder it was found from is in, the innermost first; one may be around the repository
}

// Module is a folder with a go.mod.
type Module struct {
	Path string // its import path; "" if its go.mod has none
	Dir  string
}

// Here is the checkout that the working directory is in.
func Here() Checkout {
	dir, err := os.Getwd()
	if err != nil {
		return Checkout{}
	}
	return find(dir, os.Getenv("GITHUB_WORKSPACE"))
}

var moduleLine = regexp.MustCompile(`(?m)^module\s+"?([^\s"]+)`)

// find is the checkout of a folder. A workspace that the folder is not in tells nothing.
func find(dir, workspace string) Checkout {
	c, git := Checkout{Root: dir}, false
	for at := dir; ; at = filepath.Dir(at) {
		if text, err := os.ReadFile(filepath.Join(at, "go.mod")); err == nil {
			m := Module{Dir: at}
			if path := moduleLine.FindSubmatch(text); path != nil {
				m.Path = string(path[1])
			}
			if c.Modules = append(c.Modules, m); !git {
				c.Root = at
			}
		}
		if _, err := os.Stat(filepath.Join(at, ".git")); err == nil && !git {
			c.Root, git = at, true
		}
		if git && len(c.Modules) > 0 || at == filepath.Dir(at) {
			break
		}
	}
	if _, within := below(workspace, dir); within {
		c.Root = filepath.Clean(workspace)
	}
	return c
}

// Name is a file as the repository names it, with slashes, from its root. It is "" if there is no such file in it. A
// relative name is from the working directory.
func (c Checkout) Name(file string) string {
	absolute, err := filepath.Abs(file)
	if err != nil || file == "" {
		return ""
	}
	name, within := below(c.Root, absolute)
	if info, err := os.Stat(absolute); !within || err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return filepath.ToSlash(name)
}

// below returns a file's name from a folder, and whether the file is in it, or is the folder itself.
func below(dir, file string) (name string, within bool) {
	name, err := filepath.Rel(dir, file)
	return name, dir != "" && err == nil && filepath.IsLocal(name)
}
