package torturecli

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
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
	return strings.TrimSuffix(strings.TrimPrefix(d.excerpt(text, show), dots(true)), dots(true))
}

// mended removes testdata, as the tutorial asks its readers to do after each mend: fail files would be tried first.
func (d *document) mended() {
	if err := os.RemoveAll(filepath.Join(d.dir, "testdata")); err != nil {
		d.t.Error(err)
	}
}

// difference copies the second of two files of this repository into the document's folder and returns the difference.
func (d *document) difference(what string) string {
	d.mended()
	before, after, _ := strings.Cut(what, " ")
	d.write(path.Base(after), d.read(filepath.Join(d.root, after)))
	diff := exec.Command("git", "diff", "--no-index", "--no-color", "--no-ext-diff", "--", before, after)
	diff.Dir = d.root
	out, _ := diff.Output() // it fails where files differ
	_, text, found := strings.Cut(string(out), "\n--- ")
	if !found {
		d.t.Errorf("no difference between %s and %s: %s", before, after, out)
	}
	return "--- " + text
}

// hold reports a block that does not show what it should, and returns what that is.
func (d *document) hold(what, want, body string) string {
	if diff := cmp.Diff(want, body); diff != "" && !*update {
		d.t.Errorf("%s is something else (-is, +document); `make docs` pastes it:\n%s", what, diff)
	}
	return want
}
