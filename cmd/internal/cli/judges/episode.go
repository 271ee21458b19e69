package judges

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// episode is a history as an episode that is over. It implements [workload.World]: every operation has a session of its
// own, which is known to have ended only where the history says it of what the operation got; and it implements
// [world.Source], for a plan that nobody plays.
type episode struct {
	history linearizability.History // in the order of the calls
	ops     []*world.Op
	stamps  []int64 // of the history, in order: a call at the one of index i is a moment 2i, and a return 2i+1
}

// outcomes are those of a world.
var outcomes = [...]world.Outcome{
	linearizability.OK: world.OK, linearizability.Fail: world.Fail, linearizability.Unknown: world.Unknown,
}

// ending has operations that give something back, which of what is called at one time come last, and those that get it.
var ending = map[string]bool{
	"finish": true, "leave": true, "deregister": true, "claim": false, "try": false, "join": false, "register": false,
}

// newEpisode leaves out what surely had no effect and says nothing; what failed to get something may have had it for a while:
// runs on servers say so where a session ended meanwhile. What returns when another is called overlaps it: the
// world's stamps are all different. Who gives something back is the process that got it, as the thing itself: there may be
// several.
func newEpisode(h linearizability.History) *episode {
	silent := func(o linearizability.Operation) bool {
		_, turn := ending[o.Op]
		return o.Outcome == linearizability.Fail && !turn
	}
	e := &episode{history: slices.DeleteFunc(slices.Clone(h), silent)}
	slices.SortStableFunc(e.history, func(a, b linearizability.Operation) int {
		if a.Call == b.Call && ending[a.Op] != ending[b.Op] && ending[a.Op] {
			return 1
		} else if a.Call == b.Call && ending[a.Op] != ending[b.Op] {
			return -1
		}
		return cmp.Or(byCall(a, b), cmp.Compare(a.Return, b.Return))
	})
	for _, o := range e.history {
		e.stamps = append(e.stamps, o.Call, o.Return)
	}
	slices.Sort(e.stamps)
	e.stamps = slices.Compact(e.stamps)
	e.alternate()
	clients, holdings := map[linearizability.Value]int{}, map[holding]int{}
	for i, o := range e.history {
		op := &world.Op{Name: o.Op, Arg: words(o.Op, o.Arg), Outcome: outcomes[o.Outcome], Result: words(o.Op, o.Result),
			Call: e.moment(o.Call), Return: linearizability.Forever, Client: o.Client - 1, SessionAt: int64(i + 1), Number: int64(i + 1)}
		if o.Return != linearizability.Forever {
			op.Return = e.moment(o.Return) + 1
		}
		got := holdingOf(&o)
		if _, known := clients[got.of]; !known {
			clients[got.of] = op.Client
		}
		if _, known := holdings[got]; !known {
			holdings[got] = len(holdings)
		}
		op.Client, op.Incarnation = clients[got.of], holdings[got]
		switch {
		case o.Op == "register":
			op.Data = op.SessionAt // it registered under the session that its client has
		case o.Op == "join" || (o.Op == "claim" || o.Op == "try") && op.Result != "":
			op.Data = &workload.Held{}
		}
		e.ops = append(e.ops, op)
	}
	return e
}

// holding is who got or gives back what.
type holding struct {
	of   linearizability.Value
	what string
}

func holdingOf(o *linearizability.Operation) holding {
	what := text(o.Arg) + text(o.Result)
	if o.Op == "finish" {
		what = what[strings.LastIndex(what, " ")+1:]
	}
	return holding{o.Owner(), what}
}

// alternate has who has got something, and at one stamp has given it back and gets it again, do that in turns.
func (e *episode) alternate() {
	held := map[holding]bool{}
	for i := range e.history {
		o := &e.history[i]
		if _, turn := ending[o.Op]; !turn {
			continue
		}
		got := holdingOf(o)
		for k := i + 1; held[got] && !ending[o.Op] && k < len(e.history) && e.history[k].Call == o.Call; k++ {
			if back := e.history[k]; ending[back.Op] && back.Return == o.Call && holdingOf(&back) == got {
				copy(e.history[i+1:k+1], e.history[i:k])
				*o = back
			}
		}
		held[got] = !ending[o.Op] && o.Outcome == linearizability.OK
	}
}

// moment is the call that a stamp of the history would be.
func (e *episode) moment(stamp int64) int64 {
	i, _ := slices.BinarySearch(e.stamps, stamp)
	return int64(2 * i)
}

// words is an argument or a result; the members of a group are in the order of their names.
func words(op string, v linearizability.Value) string {
	if op != "members" && op != "list" && op != "changed" {
		return text(v)
	}
	return strings.Join(slices.Sorted(strings.FieldsSeq(text(v))), " ")
}

func (e *episode) Choose(int, string) int { return 0 }

func (e *episode) Faulty() bool              { return true }
func (e *episode) Moment(stamp int64) string { return fmt.Sprint(e.stamps[stamp/2]) }
func (e *episode) Span(from, to int64) string {
	if to == linearizability.Forever {
		return fmt.Sprintf("[%v..]", e.Moment(from))
	}
	return fmt.Sprintf("[%v..%v]", e.Moment(from), e.Moment(to))
}

func (e *episode) SessionEnd(int64) (end int64, ended bool) { return 0, false }

// SessionGone is known of a claim of unknown outcome that has returned.
func (e *episode) SessionGone(session int64) (since int64, known bool) {
	if session < 1 {
		return 0, false
	}
	op := e.ops[session-1]
	return op.Return, op.Outcome == world.Unknown && op.Return != linearizability.Forever
}

func (e *episode) Crash(int, int) (at int64, crashed bool)                           { return 0, false }
func (e *episode) CutOff(int, int64, int64) bool                                     { return true }
func (e *episode) FaultFree(int64, int64) (d time.Duration, known bool)              { return 0, false }
func (e *episode) Beliefs() (known bool)                                             { return false }
func (e *episode) Changes() (all []world.Change, known bool)                         { return nil, false }
func (e *episode) Herds() (all []world.Herd, known bool)                             { return nil, false }
func (e *episode) Explain(*world.Op) world.Sentence                                  { return world.Sentence{} }
func (e *episode) Blocked(*world.Op, string) sim.Violation                           { return sim.Violation{} }
func (e *episode) Remains(*world.Op) bool                                            { return false }
func (e *episode) LeftBehind([]*world.Op, workload.Leftovers) (none []sim.Violation) { return nil }
func (e *episode) Abandoned([]*world.Op, string, func(*world.Op) bool) (path string, of *world.Op, known bool) {
	return "", nil, false
}
