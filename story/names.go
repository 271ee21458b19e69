package story

import (
	"path"
	"regexp"
	"strings"
)

// commonRoot returns the longest common path of all leaves, "/" if there is none.
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

// nameZnodes gives each znode a unique short name: the last part of its path, or the last two, abbreviated if that is
// unique, or the whole path.
func nameZnodes(znodes []Znode) {
	for _, naming := range []func(path string) string{
		func(of string) string { return abbreviate(path.Base(of), "") },
		func(of string) string { return abbreviate(path.Base(of), "$1") },
		func(of string) string { return abbreviate(lastTwo(of), "") },
		func(of string) string { return abbreviate(lastTwo(of), "$1") },
		lastTwo,
		func(of string) string { return of },
	} {
		count := map[string]int{}
		for _, z := range znodes {
			count[z.Name]++
		}
		for i, z := range znodes {
			if z.Name == "" || count[z.Name] > 1 {
				znodes[i].Name = naming(z.Path)
			}
		}
	}
}

// lastTwo is the last part of a path, below its parent if that has a name.
func lastTwo(of string) string {
	return strings.TrimLeft(path.Join(path.Base(path.Dir(of)), path.Base(of)), "/")
}

var (
	// identity is the part of a name unique to a client: a GUID, a session, a hash.
	identity = regexp.MustCompile(`([0-9a-f]{4})(?:[0-9a-f]{4}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{7,})`)
	guid     = regexp.MustCompile(`([0-9a-f]{4})[0-9a-f]{28}`)
	// leadingZeros are those of a sequence number, except for the last four digits.
	leadingZeros = regexp.MustCompile(`0{6}(\d{4})$`)
)

// abbreviate shortens the long parts of a name; kept is what stays of an identity.
func abbreviate(name, kept string) string {
	short := identity.ReplaceAllString(leadingZeros.ReplaceAllString(name, "$1"), kept+"…")
	return strings.ReplaceAll(short, "…-…", "…")
}
