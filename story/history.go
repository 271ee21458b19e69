package story

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/zktorture/zktorture/linearizability"
)

// FromVerdict makes the story of a recorded history that breaks a model: the operations of the verdict's certificate,
// and around operations before and after each, by call. The history may have millions of operations.
func FromVerdict(model string, h linearizability.History, v linearizability.Verdict, around int) *Story {
	s := FromHistory(h, v.Property, v.Message, around,
		func(o linearizability.Operation) bool { return slices.Contains(v.Operations, o) })
	s.Subject, s.Workload, s.Title = model, model, fmt.Sprintf("the history breaks %s, judged as %s: %s", v.Property, model, v.Message)
	if v.Object != "" {
		s.Title = v.Object + ": " + s.Title
	}
	return s
}

// FromHistory makes a story of the cited operations of a history, and around operations before and after each of them.
func FromHistory(h linearizability.History, property, message string, around int,
	asked func(linearizability.Operation) bool) *Story {
	return fromShown(len(h), near(h, around, asked), property, message, asked)
}

// wholeMax bounds the operations in the story of a whole history.
const wholeMax = 400

// FromWholeHistory makes a story of a short history, such as that of one round, if the operations that matter are
// unknown: a znode was left, for example. Of a longer history it has the first 400 operations.
func FromWholeHistory(h linearizability.History, property, message string) *Story {
	everybody := func(linearizability.Operation) bool { return true }
	nobody := func(linearizability.Operation) bool { return false }
	return fromShown(len(h), near(h, 0, everybody)[:min(len(h), wholeMax)], property, message, nobody)
}

// fromShown makes a story of a part of a history of the given length.
func fromShown(of int, shown linearizability.History, property, message string,
	asked func(linearizability.Operation) bool) *Story {
	s := newStory(property, message)
	s.Clock, s.Title = clockStamps, fmt.Sprintf("%s is broken: %s", property, message)
	s.Left = of - len(shown)
	names := clientNames(shown)
	for _, name := range names {
		s.Clients = append(s.Clients, Client{name, 1})
	}
	for _, o := range shown {
		s.Operations = append(s.Operations, fromOperation(o, slices.Index(names, clientName(o)), asked(o)))
	}
	s.stampEvents()
	return s
}

// near returns the cited operations and those around them, by call.
func near(h linearizability.History, around int,
	asked func(linearizability.Operation) bool) (shown linearizability.History) {
	byCall := make([]int32, len(h))
	for i := range byCall {
		byCall[i] = int32(i)
	}
	slices.SortStableFunc(byCall, func(a, b int32) int { return cmp.Compare(h[a].Call, h[b].Call) })
	next := 0 // the first not shown yet
	for at, i := range byCall {
		if !asked(h[i]) {
			continue
		}
		for next = max(next, at-around); next <= min(at+around, len(h)-1); next++ {
			shown = append(shown, h[byCall[next]])
		}
	}
	return shown
}

// clientNames lists the clients of a history, client 2 before client 10.
func clientNames(h linearizability.History) (names []string) {
	for _, o := range h {
		names = append(names, clientName(o))
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(len(a)-len(b), cmp.Compare(a, b)) })
	return slices.Compact(names)
}

// clientName names the harness's client.
func clientName(o linearizability.Operation) string {
	if !o.Process.IsNull() {
		return "client " + o.Process.String()
	}
	return fmt.Sprintf("client %d", o.Client)
}

func fromOperation(o linearizability.Operation, client int, asked bool) Operation {
	told := Operation{Client: client, Name: o.Op, Outcome: o.Outcome.String(), Call: o.Call, Return: o.Return,
		Error: o.Note, Cited: asked}
	if !o.Arg.IsNull() {
		told.Arg = o.Arg.String()
	}
	if !o.Result.IsNull() {
		told.Result = o.Result.String()
	}
	if o.Return == linearizability.Forever {
		told.Return = -1
	}
	return told
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
