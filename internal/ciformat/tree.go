package ciformat

import (
	"net/url"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/zktorture/zktorture/internal/checkout"
	"github.com/zktorture/zktorture/story"
)

// tree is the repository that a program runs in.
type tree struct{ checkout.Checkout }

// line finds the innermost line that is in the tree, as a reference from its root, and its number; "" if there is none.
func (t tree) line(lines story.Lines) (uri string, number int) {
	for _, line := range lines {
		colon := strings.LastIndexByte(line, ':')
		number, err := strconv.Atoi(line[colon+1:])
		if err != nil {
			continue
		}
		for _, m := range t.Modules {
			rest, within := strings.CutPrefix(line[:max(colon, 0)], m.Path+"/")
			if !within || m.Path == "" {
				continue
			}
			if uri := t.file(filepath.Join(m.Dir, filepath.FromSlash(rest))); uri != "" {
				return uri, number
			}
		}
	}
	return "", 0
}

// file is a reference to a file from the root; "" if it is not there, or not in the tree.
func (t tree) file(name string) string { return (&url.URL{Path: t.Name(name)}).String() }
