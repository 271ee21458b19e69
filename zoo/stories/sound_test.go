package stories_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/zktorture/zktorture/story"
)

// sound looks for contradictions within a story.
func sound(t *testing.T, s *story.Story) {
	t.Helper()
	for i, e := range s.Events {
		if problem := eventProblem(s, i); problem != "" {
			t.Errorf("event %d, %s: %+v", i, problem, e)
		}
		listProblems(t, s, e)
	}
	for _, z := range s.Znodes {
		for j, l := range z.Lives {
			if l.Until >= 0 && l.Until < l.From || j > 0 && (z.Lives[j-1].Until < 0 || z.Lives[j-1].Until > l.From) {
				t.Errorf("%s lives %+v", z.Path, z.Lives)
			}
			if l.Owner >= 0 && !owned(s.Sessions[l.Owner], l) {
				t.Errorf("%s lives from %d to %d, its session %+v", z.Path, l.From, l.Until, s.Sessions[l.Owner])
			}
		}
	}
	for i, a := range s.Znodes {
		if i > 0 && s.Znodes[i-1].Path >= a.Path ||
			slices.ContainsFunc(s.Znodes[:i], func(b story.Znode) bool { return a.Name == b.Name }) {
			t.Errorf("%s is out of order, or shares its name %s", a.Path, a.Name)
		}
	}
	for i, p := range s.Curve {
		if p.Step != int64(i) || p.Broken+p.Unknown > p.Runs || p.Runs == 0 {
			t.Errorf("point %d of the curve: %+v", i, p)
		}
	}
}

// owned reports whether an ephemeral lives within its session.
func owned(session story.Session, l story.Life) bool {
	return l.From >= session.Begin && (session.End < 0 || l.Until >= 0 && l.Until <= session.End)
}

func eventProblem(s *story.Story, i int) string {
	e := s.Events[i]
	var before story.Event
	if i > 0 {
		before = s.Events[i-1]
	}
	var from story.Event
	if e.From >= 0 {
		from = s.Events[e.From]
	}
	switch {
	case e.Step < before.Step || e.Time < before.Time:
		return "it is earlier than the one before it"
	case e.Sent > e.Step:
		return "it arrives before it is sent"
	case from.Step > e.Step || e.From == i:
		return "it comes before its cause"
	case e.Kind == "return" && (e.From < 0 || from.Kind != "call" || from.Operation != e.Operation):
		return "it returns from no call"
	case e.Kind == "reply" && (e.From < 0 || from.Kind != "request" || from.Client != e.Client):
		return "it replies to no request"
	case e.Kind == "watch" && (e.From < 0 || e.Armed < 0 && e.Lost == "" && !rearmed(s, i)):
		return "nothing has fired it, or nobody watches"
	case e.Armed >= 0 && (e.Armed >= i || s.Events[e.Armed].Path != e.Path ||
		!strings.HasSuffix(s.Events[e.Armed].What, "+watch")):
		return "it was armed by another"
	case e.Session >= 0 && s.Sessions[e.Session].Begin > e.Step:
		return "its session has not begun"
	case (e.Kind == "call" || e.Kind == "return") && !inOperation(s, e):
		return "it is not where its operation begins or ends"
	}
	return ""
}

// rearmed reports whether an event may come from a watch that setWatches armed again, or come twice because its znode
// had several kinds of watches.
func rearmed(s *story.Story, i int) bool {
	return slices.ContainsFunc(s.Events[:i], func(e story.Event) bool {
		return e.Client == s.Events[i].Client && (e.What == "setWatches" || e.Kind == "watch" &&
			e.Path == s.Events[i].Path)
	})
}

func inOperation(s *story.Story, e story.Event) bool {
	o := s.Operations[e.Operation]
	at := o.Call
	if e.Kind == "return" {
		at = o.Return
	}
	return at == e.Step && o.Client == e.Client && o.User == e.User
}

// listProblems compares the children that clients saw with the tree. It needs a single server, whose lists are never
// stale.
func listProblems(t *testing.T, s *story.Story, e story.Event) {
	t.Helper()
	if e.Kind != "exchange" || !strings.HasPrefix(e.What, "children") ||
		!strings.HasPrefix(e.Result, "[") || s.Servers != 1 {
		return
	}
	saw := strings.Fields(strings.Trim(e.Result, "[]"))
	var there []string
	for _, path := range tree(s, e.Step) {
		if i := strings.LastIndexByte(path, '/'); path[:i] == e.Path {
			there = append(there, path[i+1:])
		}
	}
	slices.Sort(saw)
	slices.Sort(there)
	if !slices.Equal(saw, there) {
		t.Errorf("step %d: %s saw %q below %s, the tree of the story has %q", e.Step, s.Clients[e.Client].Name,
			saw, e.Path, there)
	}
}

// tree has the paths of the znodes that are there after a step.
func tree(s *story.Story, step int64) (there []string) {
	for _, z := range s.Znodes {
		for _, l := range z.Lives {
			if l.From <= step && (l.Until < 0 || step < l.Until) {
				there = append(there, z.Path)
			}
		}
	}
	return there
}
