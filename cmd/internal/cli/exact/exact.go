// Package exact makes a Go runtime in which everything that a simulated world leaves to the runtime is decided by the
// world: which of its ready goroutines runs next, which ready case of a select is taken, where the iteration over a map
// begins, which of the timers that are due together fires first, what random functions return.
//
// No toolchain is modified. [Write] copies some files of the user's own GOROOT, with small changes, into a folder, and
// tells the go command by an overlay (go help build, -overlay) to compile those in their place. The changes are in the
// folder edits: each says what it is for, and names the lines that it replaces, which must be there exactly once.
//
// The package is internal because torture test and torture run --exact are how it is used; package sim has the other half.
package exact

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/zktorture/zktorture/internal/wholefile"
)

//go:embed edits
var files embed.FS

// Tag is the build tag with which package sim uses the runtime that [Write] makes. Without that runtime such a build does
// not link.
const Tag = "zktexact"

// added are the files that are added to the standard library, by what they are called there.
var added = map[string]string{
	"runtime/zktorture_exact.go": "edits/exact.go.txt", "runtime/zktorture_mutex.go": "edits/mutex.go.txt",
	"runtime/zktorture_reap.go": "edits/reap.go.txt",
	"net/zktorture_exact.go":    "edits/net.go.txt", "os/zktorture_exact.go": "edits/os.go.txt",
}

// edit replaces lines of a file of the standard library.
type edit struct {
	places []place // one of which must be there, as Go versions differ
	source string  // the file and line in which the edit stands, for people
}

type place struct{ file, old, new string }

// edits reads all edits.
func edits() (all []edit, err error) {
	names, err := fs.Glob(files, "edits/*.txt")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if strings.HasSuffix(name, ".go.txt") {
			continue
		}
		text, err := files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		all = append(all, parse(name, string(text))...)
	}
	return all, nil
}

// parse reads edits: prose, then "edit FILE" and the lines to replace and those in their place, between marks as those
// of merge conflicts; "or FILE" is another place for the same edit.
func parse(name, text string) (all []edit) {
	var to *string
	for n, line := range strings.SplitAfter(text, "\n") {
		word, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case strings.HasPrefix(line, "<<<<<<<"):
			to = &last(last(all).places).old
		case to != nil && strings.HasPrefix(line, "======="):
			to = &last(last(all).places).new
		case strings.HasPrefix(line, ">>>>>>>"):
			to = nil
		case to != nil:
			*to += line
		case word == "edit":
			all = append(all, edit{[]place{{file: file}}, fmt.Sprintf("%s:%d", name, n+1)})
		case word == "or":
			last(all).places = append(last(all).places, place{file: file})
		}
	}
	return all
}

func last[T any](list []T) *T { return &list[len(list)-1] }

// patched returns the changed and added files of a Go installation's standard library, by their names below src. The error
// names every place that is not as expected.
func patched(goroot, version string) (map[string]string, error) {
	all, err := edits()
	if err != nil {
		return nil, err
	}
	p := &patch{src: filepath.Join(goroot, "src"), text: map[string]string{}}
	for _, e := range all {
		p.apply(e)
	}
	if len(p.moved) > 0 {
		return nil, fmt.Errorf("exact mode does not fit %s in %s: %s", version, goroot, strings.Join(p.moved, "; "))
	}
	for name, from := range added {
		text, err := files.ReadFile(from)
		if err != nil {
			return nil, err
		}
		p.text[name] = string(text)
	}
	return p.text, nil
}

type patch struct {
	src   string
	text  map[string]string
	moved []string // what is not as expected
}

// apply applies an edit at the one of its places that is there.
func (p *patch) apply(e edit) {
	var problems []string
	for _, at := range e.places {
		text, err := p.read(at.file)
		n := strings.Count(text, at.old)
		switch {
		case err != nil:
			problems = append(problems, fmt.Sprintf("%s cannot be read (%v)", at.file, err))
		case n == 1:
			p.text[at.file] = strings.Replace(text, at.old, at.new, 1)
			return
		default:
			problems = append(problems, fmt.Sprintf("%s has %d times, not once, the lines %q", at.file, n, at.old))
		}
	}
	p.moved = append(p.moved, fmt.Sprintf("%s (%s)", strings.Join(problems, ", and "), e.source))
}

func (p *patch) read(file string) (string, error) {
	if text, known := p.text[file]; known {
		return text, nil
	}
	text, err := os.ReadFile(filepath.Join(p.src, filepath.FromSlash(file)))
	return string(text), err
}

// writeOverlay writes the patched files of a Go installation into a folder, which it makes, and returns the name of the overlay
// for go build -overlay. version is what errors call the installation. Files that are as they should be are left alone, so
// that several processes may call it at the same time.
func writeOverlay(goroot, version, dir string) (overlay string, err error) {
	texts, err := patched(goroot, version)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	replace := map[string]string{}
	for file, text := range texts {
		to := filepath.Join(dir, strings.ReplaceAll(file, "/", "_"))
		replace[filepath.Join(goroot, "src", filepath.FromSlash(file))] = to
		if err := write(to, []byte(text)); err != nil {
			return "", err
		}
	}
	list, err := json.MarshalIndent(map[string]any{"Replace": replace}, "", "\t")
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(dir, "overlay.json")
	return overlay, write(overlay, list)
}

// write replaces a file at once, unless it has that text.
func write(name string, text []byte) error {
	if old, err := os.ReadFile(name); err == nil && string(old) == string(text) {
		return nil
	}
	return wholefile.Write(name, text)
}
