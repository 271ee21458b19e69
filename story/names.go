package story

import (
	"strings"
	"unicode/utf8"
)

// commonRoot returns the longest path that is above all znodes that are no parents, "/" if there is
// none.
func commonRoot(znodes []Znode) string {
	root := ""
	for i, z := range znodes { // by path: a parent comes right before its first child
		if i+1 < len(znodes) && strings.HasPrefix(znodes[i+1].Path, strings.TrimSuffix(z.Path, "/")+"/") {
			continue
		}
		parent := z.Path[:max(strings.LastIndexByte(z.Path, '/'), 0)]
		if root == "" {
			root = parent + "/"
		}
		for !strings.HasPrefix(z.Path, root) {
			root = root[:strings.LastIndexByte(strings.TrimSuffix(root, "/"), '/')+1]
		}
	}
	if root = strings.TrimSuffix(root, "/"); root == "" {
		return "/"
	}
	return root
}

// nameMax is how long the last part of a path may be before it is shortened, in runes.
const nameMax = 14

// nameZnodes gives each znode a short name that no other has: the last part of its path, with the
// middle left out if it is long, or as much more of it as is needed.
func nameZnodes(znodes []Znode) {
	for i := range znodes {
		znodes[i].Name = shortName(znodes[i].Path, nameMax)
	}
	for width := nameMax + 4; width <= widestName; width += 4 {
		if unique := spread(znodes, width); unique {
			return
		}
	}
	for i := range znodes {
		znodes[i].Name = znodes[i].Path
	}
}

const widestName = 62

// spread gives longer names to znodes whose names are not unique, and tells whether there was none.
func spread(znodes []Znode, width int) bool {
	count := map[string]int{}
	for _, z := range znodes {
		count[z.Name]++
	}
	unique := true
	for i, z := range znodes {
		if count[z.Name] > 1 {
			unique = false
			znodes[i].Name = shortName(z.Path, width)
		}
	}
	return unique
}

// shortName keeps the begin of a name and its end, which is where a sequence number is.
func shortName(path string, width int) string {
	name := path[strings.LastIndexByte(path, '/')+1:]
	if name == "" {
		return path
	}
	if utf8.RuneCountInString(name) <= width {
		return name
	}
	runes := []rune(name)
	tail := sequenceTail
	return string(runes[:width-tail-1]) + "…" + string(runes[len(runes)-tail:])
}

// sequenceTail is how much is kept of a name's end.
const sequenceTail = 4
