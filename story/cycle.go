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

// kindRepeats is of an event that stands for others, which are not told.
const kindRepeats Kind = "repeats"

// Folded returns the story with each cycle told once. Events that refer to a later time refer to the first.
func (s *Story) Folded() *Story {
	if len(s.Cycles) == 0 {
		return s
	}
	var parts []part
	for _, c := range s.Cycles {
		parts = append(parts, part{c.Event + c.Length, c.Event + c.events(), s.repeats(c), c.Length})
	}
	return s.folded(parts)
}

// part is events of a story for which one other stands.
type part struct {
	from, until int
	by          Event
	again       int // what is told of an event is the one so many before it; 0: the one that stands for it
}

// folded returns the story with the events of each part told as one.
func (s *Story) folded(parts []part) *Story {
	f := *s
	f.Events, f.Cycles = nil, nil
	at := make([]int, len(s.Events)) // where an event is told
	for i, e := range s.Events {
		at[i] = len(f.Events)
		switch {
		case len(parts) == 0 || i < parts[0].from:
			f.Events = append(f.Events, e)
			continue
		case parts[0].again > 0:
			at[i] = at[i-parts[0].again]
		}
		if i+1 == parts[0].until {
			f.Events = append(f.Events, parts[0].by)
			parts = parts[1:]
		}
	}
	if s.Cause != nil {
		cause := *s.Cause
		f.Cause = &cause
		for _, of := range []*int{&cause.Read, &cause.Event} {
			if *of >= 0 {
				*of = at[*of]
			}
		}
	}
	for i := range f.Events {
		for _, of := range []*int{&f.Events[i].From, &f.Events[i].Armed} {
			if *of >= 0 {
				*of = at[*of]
			}
		}
	}
	return &f
}

// repeats returns the event that stands for all times of a cycle but the first. Its step is the last of them, or
// the pivotal one, if that is among them.
func (s *Story) repeats(c Cycle) Event {
	from, until := s.Events[c.Event].Step, s.Events[c.Event+c.Length-1].Step
	last := s.Events[c.Event+c.events()-1]
	e := standIn(last, cycle.Repeat(from, until, last.Step, c.Times))
	if p := s.Pivot; p != nil && p.Step > until && p.Step <= last.Step {
		e.Step = p.Step
	}
	return e
}

// standIn is the event that stands for some events, of which it is given the last.
func standIn(last Event, text string) Event {
	e := blank(last.Step, kindRepeats)
	e.Time, e.What = last.Time, text
	return e
}
