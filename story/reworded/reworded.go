// Package reworded replaces all words of a run. A program that handles the reworded run as it does the original
// depends on facts only, and on no text for people.
package reworded

import (
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/zktorture/zktorture/sim"
)

// Text returns other words for a text, equal ones for equal texts. The empty text stays.
func Text(text string) string {
	if text == "" {
		return ""
	}
	h := fnv.New32a()
	h.Write([]byte(text))
	return fmt.Sprintf("other words, no. %d", h.Sum32())
}

// Replay returns the same run with other words.
func Replay(r *sim.Replayed) *sim.Replayed {
	other := *r
	other.Trace = slices.Clone(r.Trace)
	for i := range other.Trace {
		s := &other.Trace[i]
		s.Event, s.Result, s.Fate = Text(s.Event), Text(s.Result), Text(s.Fate)
		if Several(s.Request) {
			s.Path = Text(s.Path)
		}
	}
	if r.Violation != nil {
		v := *r.Violation
		v.Message = Text(v.Message)
		other.Violation = &v
	}
	return &other
}

// Several reports whether a request is about several znodes. Then the path of its line is a list in words.
func Several(request string) bool { return request == "multi" || request == "setWatches" }
