package story

import (
	"fmt"
	"slices"
)

// stretchMin is the least length of a stretch: folding fewer events saves nothing.
const stretchMin = 3

// stretches lists the parts of a story in which nothing happens that bears on the verdict, in order: they can be folded.
func (s *Story) stretches() (found []part) {
	for i := 0; i < len(s.Events); i++ {
		from := i
		for i < len(s.Events) && s.uneventful(s.Events[i]) {
			i++
		}
		if i-from >= stretchMin {
			found = append(found, part{from: from, until: i, by: unfold(s.Events[from:i])})
		}
	}
	return found
}

// uneventful reports whether an event is a request about no znode in question, or nothing but time
// that moves; the steps that decide are eventful.
func (s *Story) uneventful(e Event) bool {
	if p := s.Pivot; p != nil && (e.Step == p.Step || e.Step == p.Sealed) {
		return false
	}
	switch e.Kind {
	case kindTime, kindShared:
		return true
	case kindRequest, kindExchange, kindReply:
		return !slices.ContainsFunc(s.Znodes, func(z Znode) bool { return z.Cited && (z.Path == e.Path || z.Path == e.Made) })
	}
	return false
}

// unfold is the event that stands for a stretch.
func unfold(events []Event) Event {
	first, last := events[0], events[len(events)-1]
	text := fmt.Sprintf("%d uneventful events, steps %d to %d", len(events), first.Step, last.Step)
	if first.Step == last.Step {
		text = fmt.Sprintf("%d uneventful events, step %d", len(events), first.Step)
	}
	return standIn(last, text)
}
