package story

import (
	"fmt"
	"slices"
)

// Stretch is a part of a story in which nothing happens that bears on the verdict: it can be folded.
type Stretch struct {
	Event  int `json:"event"`  // the first
	Length int `json:"length"` // in events, at least stretchMin
}

// stretchMin is the least length of a stretch: folding fewer events saves nothing.
const stretchMin = 3

// Stretches lists the uneventful parts, in order.
func (s *Story) Stretches() (found []Stretch) {
	for i := 0; i < len(s.Events); i++ {
		from := i
		for i < len(s.Events) && s.uneventful(s.Events[i]) {
			i++
		}
		if i-from >= stretchMin {
			found = append(found, Stretch{from, i - from})
		}
	}
	return found
}

// uneventful tells whether an event is a request about no znode in question, or nothing but time that moves; the steps
// that decide are eventful.
func (s *Story) uneventful(e Event) bool {
	if p := s.Pivot; p != nil && (e.Step == p.Step || e.Step == p.Sealed) {
		return false
	}
	switch e.Kind {
	case KindTime, KindShared:
		return true
	case KindRequest, KindExchange, KindReply:
		return !slices.ContainsFunc(s.Znodes, func(z Znode) bool { return z.Cited && (z.Path == e.Path || z.Path == e.Made) })
	}
	return false
}

// quietly returns the story with each uneventful stretch as one event.
func (s *Story) quietly() *Story {
	f := *s
	f.Events = nil
	at := make([]int, len(s.Events))
	stretches := s.Stretches()
	for i := 0; i < len(s.Events); i++ {
		at[i] = len(f.Events)
		if len(stretches) == 0 || i < stretches[0].Event {
			f.Events = append(f.Events, s.Events[i])
			continue
		}
		end := i + stretches[0].Length
		stretches = stretches[1:]
		f.Events = append(f.Events, s.unfold(s.Events[i:end]))
		for ; i < end; i++ {
			at[i] = len(f.Events) - 1
		}
		i--
	}
	for i := range f.Events {
		e := &f.Events[i]
		e.From, e.Armed = toldAt(at, e.From), toldAt(at, e.Armed)
	}
	return &f
}

// unfold is the event that stands for a stretch.
func (s *Story) unfold(events []Event) Event {
	first, last := events[0], events[len(events)-1]
	text := fmt.Sprintf("%d uneventful events, steps %d to %d", len(events), first.Step, last.Step)
	if first.Step == last.Step {
		text = fmt.Sprintf("%d uneventful events, step %d", len(events), first.Step)
	}
	return Event{Step: last.Step, Time: last.Time, Kind: KindRepeats, Client: -1, User: -1, Server: -1, Session: -1,
		Operation: -1, From: -1, Armed: -1, Sent: last.Step, What: text}
}
