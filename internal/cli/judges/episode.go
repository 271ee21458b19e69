package judges

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/recipes"
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
}

// outcomes are those of a world.
var outcomes = [...]world.Outcome{
	linearizability.OK: world.OK, linearizability.Fail: world.Fail, linearizability.Unknown: world.Unknown,
}

// ending are operations that give something back: of what is called at one time, they come last.
var ending = map[string]bool{"finish": true, "leave": true, "deregister": true}

func newEpisode(h linearizability.History) *episode {
	e := &episode{history: slices.Clone(h)}
	slices.SortStableFunc(e.history, func(a, b linearizability.Operation) int {
		if a.Call == b.Call && ending[a.Op] != ending[b.Op] && ending[a.Op] {
			return 1
		} else if a.Call == b.Call && ending[a.Op] != ending[b.Op] {
			return -1
		}
		return cmp.Or(byCall(a, b), cmp.Compare(a.Return, b.Return))
	})
	for i, o := range e.history {
		op := &world.Op{Name: o.Op, Arg: text(o.Arg), Outcome: outcomes[o.Outcome], Result: text(o.Result), Call: o.Call,
			Return: o.Return, Client: o.Client - 1, SessionAt: int64(i + 1), Number: int64(i + 1)}
		switch {
		case o.Op == "register":
			op.Data = op.SessionAt // it registered under the session that its client has
		case o.Op == "commit" && op.Outcome == world.Fail && op.Result == "abort":
			op.Err = recipes.ErrAborted
		case o.Op == "join" || (o.Op == "claim" || o.Op == "try") && op.Result != "":
			op.Data = &workload.Held{}
		}
		e.ops = append(e.ops, op)
	}
	return e
}

func (e *episode) Choose(int, string) int { return 0 }

func (e *episode) Faulty() bool              { return true }
func (e *episode) Moment(stamp int64) string { return fmt.Sprint(stamp) }
func (e *episode) Span(from, to int64) string {
	if to == linearizability.Forever {
		return fmt.Sprintf("[%d..]", from)
	}
	return fmt.Sprintf("[%d..%d]", from, to)
}

func (e *episode) SessionEnd(int64) (end int64, ended bool) { return 0, false }

// SessionGone is known of a claim of unknown outcome that has returned.
func (e *episode) SessionGone(session int64) (since int64, known bool) {
	if session < 1 {
		return 0, false
	}
	o := &e.history[session-1]
	return o.Return, o.Outcome == linearizability.Unknown && o.Return != linearizability.Forever
}

func (e *episode) Crash(int, int) (at int64, crashed bool)                           { return 0, false }
func (e *episode) CutOff(int, int64, int64) bool                                     { return true }
func (e *episode) FaultFree(int64, int64) (d time.Duration, known bool)              { return 0, false }
func (e *episode) Beliefs() (known bool)                                             { return false }
func (e *episode) Changes() (all []world.Change, known bool)                         { return nil, false }
func (e *episode) Herds() (all []world.Herd, known bool)                             { return nil, false }
func (e *episode) Resolved([]*world.Op) map[int64]workload.Resolved                  { return nil }
func (e *episode) Explain(*world.Op) world.Sentence                                  { return world.Sentence{} }
func (e *episode) Blocked(*world.Op, string) sim.Violation                           { return sim.Violation{} }
func (e *episode) Remains(*world.Op) bool                                            { return false }
func (e *episode) LeftBehind([]*world.Op, workload.Leftovers) (none []sim.Violation) { return nil }
func (e *episode) Abandoned([]*world.Op, string, func(*world.Op) bool) (path string, of *world.Op, known bool) {
	return "", nil, false
}
