package bubble

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

var bubbleNumber = regexp.MustCompile(`synctest bubble (\d+)`)

// Goroutines returns the stacks of the caller's bubble by goroutine, the simulator's own left out, of those that fit into
// the bytes.
func Goroutines(most int) map[string]string {
	stacks := AllStacks(most)
	mine := bubbleNumber.FindString(stacks[0]) + "]"
	all := map[string]string{}
	for _, stack := range stacks[1:] {
		head, rest, _ := strings.Cut(stack, "\n")
		if id, _, _ := strings.Cut(head, " ["); strings.Contains(head, mine) && !ofSimulator(stack) {
			all[id] = rest
		}
	}
	return all
}

// foreign reports whether a function is not the recipe's.
func foreign(function string) bool {
	pkg, _, _ := strings.Cut(path.Base(function), ".")
	dir := path.Dir(function)
	if dir == "." { // the standard library's
		return slices.Contains([]string{"runtime", "sync", "time", "context", "reflect", "testing", "io", "bufio", "net", "os", "log", "created by"}, pkg)
	}
	return slices.Contains([]string{"internal", "sync", "testing", "net", "crypto"}, dir) || strings.HasPrefix(dir, "internal/") ||
		dir == project && (pkg == "sim" || pkg == "fakezk") ||
		strings.HasPrefix(dir+"/", project+"/sim/") || strings.HasPrefix(dir+"/", project+"/fakezk/")
}

const project = "github.com/zktorture/zktorture"
