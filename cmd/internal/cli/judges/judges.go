// Package judges judges recorded histories of kinds that have no model in package linearizability: it shows them to the
// judge of their kind, as an episode in a world of which nothing is known but what its clients saw.
//
// The end of a session is in such a history as the call that would have given back what was held: of outcome ok if it is
// known until when it had ended, else unknown. A claim of unknown outcome may return: what it perhaps got was over then.
package judges

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
	_ "github.com/zktorture/zktorture/workload/cluster" // the registry
)

// kind is what is known of the histories of a kind.
type kind struct {
	name       string
	properties []string // that a history alone can break
	operations []operation
}

// operation says how many words the argument of an operation has, and its result if the outcome is ok.
type operation struct {
	name        string
	arg, result [2]int // at least, and at most
}

// How many words an argument or a result has.
var (
	none, one, some, list = [2]int{}, [2]int{1, 1}, [2]int{2, 1 << 30}, [2]int{0, 1 << 30}
	oneOrNone             = [2]int{0, 1}
)

var kinds = []kind{
	{"lockingqueue", []string{"exclusion", "exclusion-in-session", "phantom", "duplicate", "order", "false-empty"}, []operation{
		{"offer", one, none}, {"claim", none, one}, {"try", none, oneOrNone}, {"finish", some, none},
	}},
	{"membership", []string{"missing", "ghost", "unchanged"}, []operation{
		{"join", one, none}, {"leave", one, none}, {"members", none, list}, {"changed", list, list},
	}},
	{"registry", []string{"missing", "ghost", "unchanged"}, []operation{
		{"register", one, none}, {"deregister", one, none}, {"list", none, list}, {"changed", list, list}, {"rest", none, none},
	}},
}

func find(name string) int {
	return slices.IndexFunc(kinds, func(k kind) bool { return k.name == name })
}

// Knows reports whether histories of a kind are judged here.
func Knows(name string) bool { return find(name) >= 0 }

// Kinds are the names of the kinds.
func Kinds() (names []string) {
	for _, k := range kinds {
		names = append(names, k.name)
	}
	return names
}

// Operations are those of a kind.
func Operations(kind string) (names []string) {
	for _, op := range kinds[find(kind)].operations {
		names = append(names, op.name)
	}
	return names
}

// Check judges the history of each object, as [linearizability.Check] does, by the judge of a kind that is known here. A
// judge that is late is left to itself.
func Check(kind string, h linearizability.History, timeout time.Duration) (verdicts []linearizability.Verdict) {
	objects := map[string]linearizability.History{}
	for _, o := range h {
		objects[o.Object] = append(objects[o.Object], o)
	}
	for _, name := range slices.Sorted(maps.Keys(objects)) {
		judged := make(chan linearizability.Verdict, 1)
		go func() { judged <- kinds[find(kind)].judge(objects[name]) }()
		v := linearizability.Verdict{Outcome: linearizability.Undetermined, Reason: fmt.Sprintf(
			"%d operations could not be judged within %v; allow more time, or record shorter histories", len(objects[name]), timeout)}
		select {
		case v = <-judged:
		case <-time.After(timeout):
		}
		v.Object = name
		verdicts = append(verdicts, v)
	}
	return verdicts
}

func (k *kind) judge(h linearizability.History) linearizability.Verdict {
	for i := range h {
		if problem := k.problem(h, &h[i]); problem != "" {
			return linearizability.Verdict{Outcome: linearizability.Undetermined,
				Reason: fmt.Sprintf("operation %d, %v: %s", i+1, h[i], problem)}
		}
	}
	w, err := workload.Find(k.name, workload.Ours)
	if err != nil {
		panic(err) // a kind of the table is registered
	}
	of := newEpisode(h)
	e := w.Episode(world.NewPlan(of, 1, 1, 1, world.NoFaults, "/"), "/object")
	verdict := linearizability.Verdict{}
	for _, found := range e.Judge(&workload.View{World: of, Ops: of.ops}).Violations {
		if !slices.Contains(k.properties, found.Property) {
			continue
		}
		verdict.Outcome, verdict.Property, verdict.Message = linearizability.Violation, found.Property, found.Message
		for _, session := range found.Sessions { // they are not those of the history
			verdict.Message = strings.ReplaceAll(verdict.Message, fmt.Sprintf(" under session %v", world.SessionID(session)), "")
		}
		verdict.Rule = verdict.Message
		for _, op := range found.Ops {
			verdict.Operations = append(verdict.Operations, of.history[op.Number-1])
		}
		slices.SortStableFunc(verdict.Operations, byCall)
		break
	}
	return verdict
}

// problem says what is wrong with the recording of an operation, and what to do; "" if nothing is.
func (k *kind) problem(h linearizability.History, o *linearizability.Operation) string {
	i := slices.IndexFunc(k.operations, func(of operation) bool { return of.name == o.Op })
	if i < 0 {
		return fmt.Sprintf("the operations of a %s are %s", k.name, strings.Join(Operations(k.name), ", "))
	}
	of, ok := k.operations[i], o.Outcome == linearizability.OK
	arg, result := strings.Fields(text(o.Arg)), strings.Fields(text(o.Result))
	fits := func(words []string, n [2]int) bool { return n[0] <= len(words) && len(words) <= n[1] }
	again := func(p *linearizability.Operation) bool {
		return p != o && p.Op == o.Op && p.Arg == o.Arg && p.Outcome != linearizability.Fail
	}
	switch {
	case !fits(arg, of.arg):
		return "its argument has another number of words; see the page on histories"
	case ok && !fits(result, of.result):
		return "its result has another number of words; see the page on histories"
	case o.Return < o.Call || ok && o.Return == linearizability.Forever:
		return "an operation of outcome ok returns, and after its call"
	case o.Op == "finish" && arg[0] != "done" && !(len(arg) == 3 && arg[0] == "give" && arg[1] == "back"):
		return `its argument is "done ITEM" or "give back ITEM"`
	case o.Op == "offer" && o.Outcome != linearizability.Fail && has(h, again):
		return "this value is offered twice; offer different ones, so that it is known which was claimed"
	}
	return ""
}

func has(h linearizability.History, is func(o *linearizability.Operation) bool) bool {
	for i := range h {
		if is(&h[i]) {
			return true
		}
	}
	return false
}

// text is an argument or a result as users of kinds have it.
func text(v linearizability.Value) string {
	if v.IsNull() {
		return ""
	}
	return v.String()
}

func byCall(a, b linearizability.Operation) int { return cmp.Compare(a.Call, b.Call) }
