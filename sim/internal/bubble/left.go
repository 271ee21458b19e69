package bubble

import (
	"fmt"
	"path"
	"regexp"
	"runtime"
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
		if place := placeOf(rest); !slices.Contains(places, place) {
			places = append(places, place)
		}
	}
	slices.Sort(places)
	return strings.Join(places[:min(len(places), stacksMax)], ", ")
}

// placeOf is the innermost function of a stack that is neither the standard library's nor go-zookeeper's, or a fork's of
// it; if there is none, the innermost of that.
func placeOf(stack string) (place string) {
	lines := strings.Split(stack, "\n")
	for i := 0; i+1 < len(lines); i += 2 {
		function := strings.TrimPrefix(lines[i], "created by ")
		function = function[:max(strings.LastIndexByte(function, '('), 0)]
		if function == "" || foreign(function) {
			continue
		}
		file, _, _ := strings.Cut(path.Base(strings.TrimSpace(lines[i+1])), " ")
		place = fmt.Sprintf("%s (%s)", path.Base(function), file)
		if !strings.HasPrefix(place, "zk.") {
			return place
		}
	}
	return place
}

// Caller is the place in the user's code at which the goroutine stands that calls it.
func Caller() string {
	stack := make([]byte, 1<<14)
	stack = stack[:runtime.Stack(stack, false)]
	return CallerOf(string(stack), func() []string { return AllStacks(EveryStackBytesMax) })
}

// CallerOf is the place in the user's code that a stack is about. A goroutine of go-zookeeper's, or of the standard
// library's, is that of the goroutine that has started it, which has gone on since.
func CallerOf(stack string, all func() []string) string {
	_, rest, _ := strings.Cut(stack, "\n")
	place := placeOf(rest)
	by := createdBy.FindStringSubmatch(stack)
	if by == nil || place != "" && !strings.HasPrefix(place, "zk.") {
		return place
	}
	stacks := all()
	i := slices.IndexFunc(stacks, func(s string) bool { return strings.HasPrefix(s, by[1]+" [") })
	if i < 0 {
		return place
	}
	_, rest, _ = strings.Cut(stacks[i], "\n")
	return strings.TrimPrefix(place+", of the goroutine that is at "+placeOf(rest)+" by now", ", of ")
}

var createdBy = regexp.MustCompile(`(?m)^created by .* in (goroutine \d+)$`)
