// Package tutorial has the code of docs/tutorial: a lock from its first version, which is wrong, to
// one that survives all faults. Package mylock is the last version. The patches in steps make it,
// one after another, of nothing.
package tutorial

import (
	_ "embed"
	"strings"
)

//go:embed steps/1.patch
var firstStep string

// First returns a file of the first step, lock.go or lock_test.go, as one of a package of that name.
func First(file, packageName string) string {
	var text strings.Builder
	_, rest, _ := strings.Cut(firstStep, "+++ b/"+file+"\n")
	for line := range strings.Lines(rest) {
		if strings.HasPrefix(line, "---") {
			break
		}
		added, _ := strings.CutPrefix(line, "+")
		if !strings.HasPrefix(line, "@@") {
			text.WriteString(added)
		}
	}
	return strings.NewReplacer("Package mylock", "Package "+packageName,
		"package mylock", "package "+packageName).Replace(text.String())
}
