package sim

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// outlived tells whether goroutines may be left at the end of the episode that are no fault of the recipe's: those of a
// process that has died, which nothing can end, and over the wire those of connections that code has opened by itself
// and that the world cannot close, as they were not opened with [User.ZKOption].
func (w *World) outlived() bool {
	died := func(p *process) bool { return len(p.crashes) > 0 }
	return slices.ContainsFunc(w.procs, died) ||
		slices.ContainsFunc(w.doors, func(d *door) bool { return d.unknown.Load() })
}

// leftMax is how many episodes of a campaign over the wire may leave goroutines behind, each with the buffers of its
// connections. In process a few goroutines of a process that has died take little; see [leftTooMuch].
const leftMax = 100

// tooManyLeft says why a campaign cannot go on.
func tooManyLeft(where string) string {
	return fmt.Sprintf("%d episodes have left goroutines behind, at %s: they keep memory for ever. %s", leftMax, where,
		letThemEnd)
}

// leftPlaces names the functions at which goroutines stand that have been left behind in a bubble.
func leftPlaces(bubble int) string {
	if bubble == 0 { // nobody wanted to know its number
		return "a process that has died"
	}
	var places []string
	for _, stack := range allStacks(everyStackBytesMax) {
		if bubbleOf(stack) != bubble || ofSimulator(stack) {
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

// placeOf is the innermost function of a stack that is neither the standard library's nor go-zookeeper's; if there is
// none, the innermost of go-zookeeper.
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
		if !strings.HasPrefix(function, "github.com/go-zookeeper/zk.") {
			return place
		}
	}
	return place
}
