package command

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/google/go-cmp/cmp"
)

// fromFile copies a file of this repository into the document's folder and returns the lines of it to be shown. One
// that is shown whole mends the one before.
func (d *document) fromFile(what string) string {
	name, show, part := strings.Cut(what, "; show: ")
	if !part {
		d.mended()
	}
	text := d.read(filepath.Join(d.root, name))
	d.write(path.Base(name), text)
	return d.lines(text, show)
}

// lines are an excerpt of a file, without the dots that stand for the rest.
func (d *document) lines(text, show string) string {
	return strings.TrimSuffix(strings.TrimPrefix(d.excerpt(text, show), dots(true)), dots(true))
}

// mended removes testdata, as the tutorial asks its readers to do after each mend: fail files would be tried first.
func (d *document) mended() {
	if err := os.RemoveAll(filepath.Join(d.dir, "testdata")); err != nil {
		d.t.Error(err)
	}
}

// step gives the document's folder a file of the tutorial's lock as it is after a step, and returns the lines of it to
// be shown. Without a file's name it is all that the step's patch changes, and the patch is returned.
func (d *document) step(what string) string {
	what, show, part := strings.Cut(what, "; show: ")
	if !part {
		d.mended()
	}
	number, name, one := strings.Cut(what, " ")
	n, err := strconv.Atoi(number)
	if err != nil {
		d.t.Fatalf("step: %s: %v", what, err)
	}
	after := d.t.TempDir()
	patch := ""
	for i := 1; i <= n; i++ {
		patch = filepath.Join(d.root, "examples/tutorial/steps", strconv.Itoa(i)+".patch")
		d.tool("git", "-C", after, "apply", patch)
	}
	if one {
		text := d.read(filepath.Join(after, name))
		d.write(name, text)
		return d.lines(text, show)
	}
	text := d.read(patch)
	d.tool("patch", "-p1", "-i", patch)
	for _, m := range changed.FindAllStringSubmatch(text, -1) {
		if d.read(m[1]) != d.read(filepath.Join(after, m[1])) {
			d.t.Errorf("step %s does not apply to the %s that a reader has here", what, m[1])
		}
	}
	return text
}

// changed are the files that a patch makes or changes.
var changed = regexp.MustCompile(`(?m)^\+\+\+ b/(.+)$`)

// hold reports a block that does not show what it should, and returns what that is.
func (d *document) hold(what, want, body string) string {
	if diff := cmp.Diff(want, body); diff != "" && !*update {
		d.t.Errorf("%s is something else (-is, +document); -update pastes it:\n%s", what, diff)
	}
	return want
}
