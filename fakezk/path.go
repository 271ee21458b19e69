package fakezk

import "strings"

// parentOf returns the path of a node's parent. The path must contain a slash.
func parentOf(path string) string {
	if i := strings.LastIndexByte(path, '/'); i > 0 {
		return path[:i]
	}
	return "/"
}

// splittable is the first check that the server makes of a path to be created or deleted: it has a parent and no NUL.
func splittable(path string) bool { return strings.IndexByte(path, '/') >= 0 && !hasNUL(path) }

func hasNUL(path string) bool { return strings.IndexByte(path, 0) >= 0 }

// special paths cannot be deleted (PrepRequestProcessor.isSpecialPath).
func special(path string) bool {
	switch path {
	case "/", "/zookeeper", "/zookeeper/quota", "/zookeeper/config":
		return true
	}
	return false
}

// serverPath reports whether the server accepts a path (common/PathUtils.ValidatePath). It differs
// from what go-zookeeper's client accepts: no character outside the Basic Multilingual Plane.
func serverPath(path string) bool {
	if path == "/" || Plain(path) {
		return true
	}
	if len(path) == 0 || path[0] != '/' {
		return false
	}
	start := 1 // of the current component
	for i, r := range path[1:] {
		if r == '/' {
			if !component(path[start : 1+i]) {
				return false
			}
			start = i + 2
		} else if r < 0x20 || r >= 0x7f && unprintable(r) {
			return false
		}
	}
	return component(path[start:])
}

// Plain reports whether clients and servers surely accept a path: it is of ASCII, and no name in it begins with a dot.
func Plain(path string) bool {
	for i := 1; i < len(path); i++ {
		if c := path[i]; c-' ' >= 0x7f-' ' || path[i-1] == '/' && (c == '/' || c == '.') {
			return false
		}
	}
	return len(path) > 1 && path[0] == '/' && path[len(path)-1] != '/'
}

func component(name string) bool { return name != "" && name != "." && name != ".." }

// unprintable characters are counted in Java's UTF-16 units: one outside the plane is two
// surrogates, and a byte that is not UTF-8 has become U+FFFD.
func unprintable(r rune) bool { return r <= 0x9f || r >= 0xd800 && r <= 0xf8ff || r >= 0xfff0 }
