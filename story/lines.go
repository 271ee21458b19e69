package story

import (
	"github.com/zktorture/zktorture/sim/world"
	"strings"
)

// Lines are lines of the recipe's code that a client was in, innermost first: each called the one before it. They begin
// with the import path of the package: example.com/app/locks/lock.go:42.
type Lines []string

// Places returns for each event where its user was in the recipe's code: the line that sent the request, or, of what is
// no request, that of the last request before it. A call is where its first request is. Events of no user in particular
// are where their client sent its last request, and events of the world where the event before them is. Of a recorded
// history nothing is known, and all are nil.
func (s *Story) Places() []Lines {
	places := make([]Lines, len(s.Events))
	last := map[[2]int]Lines{} // by client and user; user -1 is all
	for i, e := range s.Events {
		who := [2]int{e.Client, e.User}
		switch {
		case e.Code != "":
			places[i] = e.lines()
			last[who], last[[2]int{e.Client, -1}] = places[i], places[i]
		case e.Client >= 0 && e.Kind != kindCall && last[who] != nil:
			places[i] = last[who]
		case e.Client >= 0:
			places[i] = s.next(i)
		case i > 0:
			places[i] = places[i-1]
		}
	}
	return places
}

// next is where the next request of an event's user is.
func (s *Story) next(from int) Lines {
	of := s.Events[from]
	for _, e := range s.Events[from:] {
		if e.Client == of.Client && (e.User == of.User || of.User < 0) && e.Code != "" {
			return e.lines()
		}
	}
	return nil
}

// Pivotal returns where in the recipe's code the pivotal step is. If no step in particular matters, it is the last
// request of the operations that the verdict names. It is nil if that is not known.
func (s *Story) Pivotal() (found Lines) {
	places := s.Places()
	for i, e := range s.Events {
		pivotal := s.Pivot != nil && s.Pivot.Step > 0 && e.Step == s.Pivot.Step && e.Kind != kindCall && e.Kind != kindReturn
		switch {
		case pivotal && places[i] != nil:
			return places[i]
		case e.Code != "" && e.Operation >= 0 && s.Operations[e.Operation].Cited:
			found = places[i]
		}
	}
	return found
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
