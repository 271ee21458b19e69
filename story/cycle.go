package story

import (
	"github.com/zktorture/zktorture/internal/cycle"
)

// Cycle is a part of a story in which the same happens again and again, as in a livelock. Its repetitions are equal but
// for their steps and moments and the numbers of sequential znodes and of operations.
type Cycle struct {
	Event  int `json:"event"`  // the first
	Length int `json:"length"` // of each time, in events
	Times  int `json:"times"`  // at least 5
}

// events is how many events there are in all times together.
func (c Cycle) events() int { return c.Length * c.Times }

// cycles finds what repeats, from the begin on.
func cycles(events []Event) (found []Cycle) {
	shapes := make([]Event, len(events))
	for i, e := range events {
		shapes[i] = e.shape()
	}
	for _, c := range cycle.Find(shapes) {
		found = append(found, Cycle{c.First, c.Length, c.Times})
	}
	return found
}

// shape is what is equal in all times of a cycle.
func (e Event) shape() Event {
	return Event{
		Kind: e.Kind, Client: e.Client, User: e.User, Server: e.Server, What: e.What, Path: cycle.Shape(e.Path),
		Result: cycle.Shape(e.Result), Made: cycle.Shape(e.Made), Answer: cycle.Shape(e.Answer), Session: e.Session,
		Lost: e.Lost, Subject: e.Subject, Fate: e.Fate,
	}
}

// KindRepeats is of an event that stands for events of a cycle which are not told, in place of them.
const KindRepeats Kind = "repeats"

// Folded returns the story with each cycle told once.
func (s *Story) Folded() *Story {
	if len(s.Cycles) == 0 {
		return s
	}
	f := *s
	f.Events, f.Cycles = nil, nil
	at := make([]int, len(s.Events)) // where an event is told
	next := s.Cycles
	for i := 0; i < len(s.Events); i++ {
		at[i] = len(f.Events)
		if len(next) == 0 || i < next[0].Event+next[0].Length {
			f.Events = append(f.Events, s.Events[i])
			continue
		}
		c := next[0]
		next = next[1:]
		f.Events = append(f.Events, s.repeats(c))
		for end := c.Event + c.events(); i < end; i++ {
			at[i] = at[i-c.Length]
		}
		i--
	}
	for i := range f.Events {
		e := &f.Events[i]
		e.From, e.Armed = toldAt(at, e.From), toldAt(at, e.Armed)
	}
	return &f
}

func toldAt(at []int, event int) int {
	if event < 0 {
		return event
	}
	return at[event]
}

// repeats returns the event that stands for all times of a cycle but the first. Its step is the last of them, or
// the pivotal one, if that is among them.
func (s *Story) repeats(c Cycle) Event {
	from, until := s.Events[c.Event].Step, s.Events[c.Event+c.Length-1].Step
	last := s.Events[c.Event+c.events()-1]
	e := Event{
		Step: last.Step, Time: last.Time, Kind: KindRepeats, Client: -1, User: -1, Server: -1, Session: -1, Operation: -1,
		From: -1, Armed: -1, Sent: last.Step,
		What: cycle.Repeat(from, until, last.Step, c.Times),
	}
	if p := s.Pivot; p != nil && p.Step > until && p.Step <= last.Step {
		e.Step = p.Step
	}
	return e
}
