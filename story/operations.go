package story

import (
	"cmp"
	"fmt"
	"slices"
)

// OfOperations makes the story of operations by stamps, of a history in which so many more were left out.
func OfOperations(clients []Client, operations []Operation, left int, property, message string) *Story {
	s := newStory(property, message)
	s.Clock, s.Title = clockStamps, fmt.Sprintf("%s is broken: %s", property, message)
	s.Clients, s.Operations, s.Left = clients, operations, left
	s.stampEvents()
	return s
}

// stampEvents makes the story's events from the calls and returns of the operations.
func (s *Story) stampEvents() {
	for i, o := range s.Operations {
		e := blank(o.Call, kindCall)
		e.Client, e.User, e.Operation, e.What, e.Cited = o.Client, 0, i, o.call(), o.Cited
		s.Events = append(s.Events, e)
		if o.Return < 0 {
			continue
		}
		e.Step, e.Sent, e.Kind, e.Result = o.Return, o.Return, kindReturn, o.outcome()
		s.Events = append(s.Events, e)
	}
	slices.SortStableFunc(s.Events, func(a, b Event) int {
		if a.Operation == b.Operation {
			return cmp.Or(cmp.Compare(a.Step, b.Step), cmp.Compare(a.Kind, b.Kind)) // "call" before "return"
		}
		return cmp.Or(cmp.Compare(a.Step, b.Step), cmp.Compare(b.Kind, a.Kind)) // the inner ends first
	})
	calls := map[int]int{}
	for i := range s.Events {
		e := &s.Events[i]
		if e.Kind == kindCall {
			calls[e.Operation] = i
		} else if call, known := calls[e.Operation]; known {
			e.From = call
		}
	}
}

// call is how an operation is called.
func (o Operation) call() string { return o.Name + "(" + o.Arg + ")" }

// outcome is an operation's outcome, in the words of traces.
func (o Operation) outcome() string {
	switch {
	case o.Result != "":
		return o.Outcome + ": " + o.Result
	case o.Error != "":
		return o.Outcome + ": " + o.Error
	}
	return o.Outcome
}
