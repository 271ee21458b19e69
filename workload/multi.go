package workload

import (
	"slices"

	"github.com/zktorture/zktorture/recipes"
)

// multi is a lock on a path together with others, for the lock workload: the path is the one that
// is judged, and guards the resource.
type multi struct {
	*recipes.MultiLock
	path string
}

// Token returns the token of the lock that is judged.
func (m multi) Token() int64 { return m.MultiLock.Token(m.path) }

// multiDirs are the endings of the other directories.
var multiDirs = []string{"-2", "-3"}

// newMulti draws which others there are and names all in an order of its own, so that users meet on
// overlapping sets.
func newMulti(c recipes.Conn, path string) Locker {
	dirs := []string{path}
	draw := recipes.NewGUID(c)
	for i, ending := range multiDirs {
		if draw[i]%3 > 0 {
			dirs = append(dirs, path+ending)
		}
	}
	if draw[len(multiDirs)]%2 > 0 {
		slices.Reverse(dirs)
	}
	return multi{recipes.NewMultiLock(c, dirs), path}
}
