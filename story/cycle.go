package story

import (
	"fmt"
	"regexp"
)

// Cycle is a part of a story in which the same happens again and again, as in a livelock. Its repetitions are equal but
// for their steps and moments and the numbers of sequential znodes and of operations.
type Cycle struct {
	Event  int `json:"event"`  // the first
	Length int `json:"length"` // of each time, in events
	Times  int `json:"times"`  // at least cycleTimes
}

const (
	cycleTimes = 5   // fewer can be read
	cycleMax   = 200 // the longest cycle that is looked for, in events
)

// events is how many events there are in all times together.
func (c Cycle) events() int { return c.Length * c.Times }

// cycles finds what repeats, from the begin on: of all that begins at an event the one that goes on for longest.
func cycles(events []Event) (found []Cycle) {
	same := shapes(events)
	for i := 0; i < len(same); i++ {
		if c := cycleAt(same, i); c.Times > 0 {
			found = append(found, c)
			i += c.events() - 1
		}
	}
	return found
}

func cycleAt(same []int, from int) (best Cycle) {
	for length := 1; length <= cycleMax; length++ {
		n := from
		for n+length < len(same) && same[n] == same[n+length] {
			n++
		}
		c := Cycle{from, length, 1 + (n-from)/length}
		if c.Times >= cycleTimes && c.events() > best.events() {
			best = c
		}
	}
	return best
}

// shapes gives each event a number. Equal ones are equal but for what may differ in a cycle.
func shapes(events []Event) (numbers []int) {
	known := map[Event]int{}
	for _, e := range events {
		shape := Event{
			Kind: e.Kind, Client: e.Client, User: e.User, Server: e.Server, What: e.What, Path: shapeOf(e.Path),
			Result: shapeOf(e.Result), Made: shapeOf(e.Made), Answer: shapeOf(e.Answer), Session: e.Session,
			Lost: e.Lost, Subject: e.Subject, Fate: e.Fate,
		}
		if _, seen := known[shape]; !seen {
			known[shape] = len(known)
		}
		numbers = append(numbers, known[shape])
	}
	return numbers
}

// sequence is the number of a sequential znode in its name, duration what has passed.
var (
	sequence = regexp.MustCompile(`-?\b\d{10}\b|-\d{10}\b`)
	duration = regexp.MustCompile(`\b(\d+(\.\d+)?(h|ms|µs|m|s))+\b`)
)

func shapeOf(text string) string {
	return duration.ReplaceAllString(sequence.ReplaceAllString(text, "#"), "t")
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
		What: fmt.Sprintf("steps %d to %d repeat, × %d, up to step %d", from, until, c.Times, last.Step),
	}
	if p := s.Pivot; p != nil && p.Step > until && p.Step <= last.Step {
		e.Step = p.Step
	}
	return e
}
