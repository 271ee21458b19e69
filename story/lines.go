package story

import (
	"strings"

	"github.com/zktorture/zktorture/sim/world"
)

// Lines are lines of the recipe's code that a client was in, innermost first: each called the one before it. They begin
// with the import path of the package: example.com/app/locks/lock.go:42.
type Lines []string

// Decisive returns where in the recipe's code the request was sent that decides, or by which it went: see [Cause]. It is nil if
// that is not known.
func (s *Story) Decisive() Lines {
	if s.Cause == nil {
		return nil
	}
	for _, i := range []int{s.Cause.Event, s.Cause.Read} {
		if i >= 0 && s.Events[i].Code != "" {
			return s.Events[i].lines()
		}
	}
	return nil
}

// lines are the lines of an event that has some.
func (e Event) lines() Lines {
	lines := Lines{e.Code}
	if e.Callers != "" {
		lines = append(lines, strings.Split(e.Callers, ", ")...)
	}
	for i, line := range lines {
		if first, _, _ := strings.Cut(line, "/"); !strings.Contains(first, ".") || !strings.Contains(line, "/") {
			lines[i] = world.SourceModule() + "/" + line
		}
	}
	return lines
}
