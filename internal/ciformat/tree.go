package ciformat

import (
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/zktorture/zktorture/story"
)

// tree is the repository that a program runs in: the folder with .git, else that of the outermost module, else the
// working directory.
type tree struct {
	root    string // absolute; "" if it is not known
	modules []treeModule
}

// treeModule is a module whose folder is the working directory, or above it.
type treeModule struct{ path, dir string }

var moduleLine = regexp.MustCompile(`(?m)^module\s+"?([^\s"]+)`)

// workTree is the tree of the working directory.
func workTree() (t tree) {
	dir, err := os.Getwd()
	if err != nil {
		return t
	}
	t.root = dir
	for {
		if text, err := os.ReadFile(filepath.Join(dir, "go.mod")); err == nil {
			if is := moduleLine.FindSubmatch(text); is != nil {
				t.modules, t.root = append(t.modules, treeModule{string(is[1]), dir}), dir
			}
		}
		if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil {
			t.root = dir
			return t
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return t
		}
		dir = parent
	}
}

// line finds the innermost line that is in the tree, as a reference from its root, and its number; "" if there is none.
func (t tree) line(lines story.Lines) (uri string, number int) {
	for _, line := range lines {
		colon := strings.LastIndexByte(line, ':')
		number, err := strconv.Atoi(line[colon+1:])
		if err != nil {
			continue
		}
		for _, m := range t.modules {
			if rest, within := strings.CutPrefix(line[:max(colon, 0)], m.path+"/"); within {
				if uri := t.file(filepath.Join(m.dir, filepath.FromSlash(rest))); uri != "" {
					return uri, number
				}
			}
		}
	}
	return "", 0
}

// file is a reference to a file from the root; "" if it is not there, or not in the tree.
func (t tree) file(name string) string {
	absolute, err := filepath.Abs(name)
	if err != nil || name == "" || t.root == "" {
		return ""
	}
	relative, err := filepath.Rel(t.root, absolute)
	if err != nil || !filepath.IsLocal(relative) {
		return ""
	}
	if info, err := os.Stat(absolute); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return (&url.URL{Path: filepath.ToSlash(relative)}).String()
}
