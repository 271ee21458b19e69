package workload

import (
	"testing"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/sim"
)

// holding is a world with one hold, of the session 7, and what has happened meanwhile.
type holding struct {
	World
	changes []sim.Change
	cutOff  bool
	expired int // the step at which the session ended; 0 if it did not
}

func (w holding) Changes() ([]sim.Change, bool) { return w.changes, true }
func (w holding) CutOff(int, int64, int64) bool { return w.cutOff }
func (w holding) Crash(int, int) (int64, bool)  { return 0, false }
func (w holding) Moment(int64) string           { return "a step" }
func (w holding) SessionEnd(int64) (end int64, ended bool) {
	return sim.StampOf(w.expired), w.expired > 0
}
func (w holding) SessionGone(session int64) (end int64, gone bool) { return w.SessionEnd(session) }

// A hold is not said to be lost as long as nothing has happened to it; all that may have happened excuses.
func TestWhatExcusesALostHold(t *testing.T) {
	const own, others = 1, 2 // operations
	change := func(op fakezk.Op, path string, step int, by int64) sim.Change {
		return sim.Change{Change: fakezk.Change{Op: op, Path: path, Owner: 7}, Step: step, By: by}
	}
	made := change(fakezk.OpCreate, "/lock/a", 1, own)
	for _, test := range []struct {
		name    string
		world   holding
		told    bool
		accused bool
		ended   bool // by the recipe itself
	}{
		{"nothing, and not told", holding{changes: []sim.Change{made}}, false, false, false},
		{"nothing", holding{changes: []sim.Change{made}}, true, true, false},
		{"it was cut off", holding{changes: []sim.Change{made}, cutOff: true}, true, false, false},
		{"its session ended before", holding{changes: []sim.Change{made}, expired: 3}, true, false, false},
		{"its session ended later", holding{changes: []sim.Change{made}, expired: 9}, true, true, false},
		{"its znode was deleted", holding{changes: []sim.Change{made,
			change(fakezk.OpDelete, "/lock/a", 3, others)}}, true, false, false},
		{"its znode was deleted later", holding{changes: []sim.Change{made,
			change(fakezk.OpDelete, "/lock/a", 9, others)}}, true, true, false},
		{"its znode was written to", holding{changes: []sim.Change{made,
			change(fakezk.OpSetData, "/lock/a", 3, others)}}, true, false, false},
		{"another's znode was deleted", holding{changes: []sim.Change{made,
			change(fakezk.OpDelete, "/lock/b", 3, others)}}, true, true, false},
		{"it removed a znode of two by itself", holding{changes: []sim.Change{made,
			change(fakezk.OpCreate, "/lock/b", 1, own), change(fakezk.OpDelete, "/lock/b", 2, own)}}, true, true, false},
		{"it has no znode", holding{}, true, false, false},
		{"its recipe ends it", holding{changes: []sim.Change{made}}, true, false, true},
	} {
		acquire := &sim.Op{Name: "acquire", Number: own, Outcome: sim.OK, SessionAt: 7,
			Call: sim.StampOf(1), Return: sim.StampOf(2)}
		if acquire.Data = (&hold{op: acquire, lost: test.told}); test.told {
			acquire.Told, acquire.SelfEnded = sim.StampOf(5), test.ended
		}
		release := &sim.Op{Name: "release", Outcome: sim.OK, Call: sim.StampOf(6), Return: sim.StampOf(7)}
		v := &View{World: test.world, Ops: []*sim.Op{acquire, release}}
		var j Judgement
		j.falseLost(v, v.holds(theLock))
		if accused := len(j.Violations) > 0; accused != test.accused {
			t.Errorf("%s: accused %v, want %v", test.name, accused, test.accused)
		}
	}
}

// What a holder does while it holds says nothing of when it was told that the hold is lost.
func TestErrandsTellNoLoss(t *testing.T) {
	acquire := &sim.Op{Name: "acquire", Number: 1, Outcome: sim.OK, SessionAt: 7, Call: sim.StampOf(1), Return: sim.StampOf(2)}
	acquire.Data, acquire.Told = &hold{op: acquire, lost: true}, sim.StampOf(2)
	ops := []*sim.Op{acquire}
	for i, name := range []string{"tally", "log", "inner", "reacquire"} {
		ops = append(ops, &sim.Op{Name: name, Outcome: sim.OK, Call: sim.StampOf(3 + i), Return: sim.StampOf(3 + i)})
	}
	created := sim.Change{Change: fakezk.Change{Op: fakezk.OpCreate, Path: "/lock/a", Owner: 7}, Step: 1, By: 1}
	world := holding{changes: []sim.Change{created}, expired: 9}
	for next, accused := range map[int]bool{8: true, 10: false} {
		after := &sim.Op{Name: "acquire", Outcome: sim.Fail, Call: sim.StampOf(next), Return: sim.StampOf(next)}
		v := &View{World: world, Ops: append(ops[:len(ops):len(ops)], after)}
		var j Judgement
		if j.falseLost(v, v.holds(theLock)); len(j.Violations) > 0 != accused {
			t.Errorf("the next operation begins at step %d, after the session ended at 9: accused %v", next, !accused)
		}
	}
}
