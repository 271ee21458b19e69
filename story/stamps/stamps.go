// Package stamps tells stories of recorded histories, by the stamps of their operations.
package stamps

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/story"
)

// Verdict makes the story of a recorded history that breaks a model: the operations of the verdict's certificate,
// and around operations before and after each, by call. The history may have millions of operations.
func Verdict(model string, h linearizability.History, v linearizability.Verdict, around int) *story.Story {
	s := Part(h, v.Property, v.Message, around,
		func(o linearizability.Operation) bool { return slices.Contains(v.Operations, o) })
	s.Subject, s.Workload, s.Title = model, model, fmt.Sprintf("the history breaks %s, judged as %s: %s", v.Property, model, v.Message)
	if v.Object != "" {
		s.Title = v.Object + ": " + s.Title
	}
	return s
}

// Part makes a story of the cited operations of a history, and around operations before and after each of them.
func Part(h linearizability.History, property, message string, around int,
	asked func(linearizability.Operation) bool) *story.Story {
	return shownOf(len(h), near(h, around, asked), property, message, asked)
}

// wholeMax bounds the operations in the story of a whole history.
const wholeMax = 400

// Whole makes a story of a short history, such as that of one round, if the operations that matter are
// unknown: a znode was left, for example. Of a longer history it has the first 400 operations.
func Whole(h linearizability.History, property, message string) *story.Story {
	everybody := func(linearizability.Operation) bool { return true }
	nobody := func(linearizability.Operation) bool { return false }
	return shownOf(len(h), near(h, 0, everybody)[:min(len(h), wholeMax)], property, message, nobody)
}

// shownOf makes a story of a part of a history of the given length.
func shownOf(of int, shown linearizability.History, property, message string,
	asked func(linearizability.Operation) bool) *story.Story {
	clients, operations, names := []story.Client{}, []story.Operation{}, clientNames(shown)
	for _, name := range names {
		clients = append(clients, story.Client{Name: name, Users: 1})
	}
	for _, o := range shown {
		operations = append(operations, told(o, slices.Index(names, clientName(o)), asked(o)))
	}
	return story.OfOperations(clients, operations, of-len(shown), property, message)
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

func told(o linearizability.Operation, client int, asked bool) story.Operation {
	t := story.Operation{Client: client, Name: o.Op, Outcome: o.Outcome.String(), Call: o.Call, Return: o.Return,
		Error: o.Note, Cited: asked}
	if !o.Arg.IsNull() {
		t.Arg = o.Arg.String()
	}
	if !o.Result.IsNull() {
		t.Result = o.Result.String()
	}
	if o.Return == linearizability.Forever {
		t.Return = -1
	}
	return t
}
