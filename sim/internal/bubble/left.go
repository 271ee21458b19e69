package bubble

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// LeftPlaces names the functions at which goroutines stand that have been left behind in a bubble.
func LeftPlaces(bubble int) string {
	if bubble == 0 { // nobody wanted to know its number
		return "a process that has died"
	}
	var places []string
	for _, stack := range AllStacks(EveryStackBytesMax) {
		if Of(stack) != bubble || ofSimulator(stack) {
			continue
		}
		_, rest, _ := strings.Cut(stack, "\n")
		if place := PlaceOf(rest); !slices.Contains(places, place) {
			places = append(places, place)
		}
	}
	slices.Sort(places)
	return strings.Join(places[:min(len(places), stacksMax)], ", ")
}

// PlaceOf is the innermost function of a stack that is neither the standard library's nor go-zookeeper's; if there is
// none, the innermost of go-zookeeper.
func PlaceOf(stack string) (place string) {
	lines := strings.Split(stack, "\n")
	for i := 0; i+1 < len(lines); i += 2 {
		function := strings.TrimPrefix(lines[i], "created by ")
		function = function[:max(strings.LastIndexByte(function, '('), 0)]
		if function == "" || foreign(function) {
			continue
		}
		file, _, _ := strings.Cut(path.Base(strings.TrimSpace(lines[i+1])), " ")
		place = fmt.Sprintf("%s (%s)", path.Base(function), file)
		if !strings.HasPrefix(function, "github.com/go-zookeeper/zk.") {
			return place
		}
	}
	return place
}
