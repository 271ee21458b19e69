package workload

import (
	"testing"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/wire"
	"github.com/zktorture/zktorture/sim/world"
)

// holding is a world with one hold, of the session 7, and what has happened meanwhile.
type holding struct {
	World
	changes []world.Change
	cutOff  bool
	expired int // the step at which the session ended; 0 if it did not
}

func (w holding) Changes() ([]world.Change, bool) { return w.changes, true }
func (w holding) CutOff(int, int64, int64) bool   { return w.cutOff }
func (w holding) Crash(int, int) (int64, bool)    { return 0, false }
func (w holding) Moment(int64) string             { return "a step" }
func (w holding) SessionEnd(int64) (end int64, ended bool) {
	return world.StampOf(w.expired), w.expired > 0
}
func (w holding) SessionGone(session int64) (end int64, gone bool) { return w.SessionEnd(session) }

// A hold is not said to be lost as long as nothing has happened to it; all that may have happened excuses.
func TestWhatExcusesALostHold(t *testing.T) {
	const own, others = 1, 2 // operations
	change := func(op wire.Op, path string, step int, by int64) world.Change {
		return world.Change{Change: fakezk.Change{Op: op, Path: path, Owner: 7}, Step: step, By: by}
	}
	made := change(wire.OpCreate, "/lock/a", 1, own)
	for _, test := range []struct {
		name    string
		world   holding
		told    bool
		accused bool
		ended   bool // by the recipe itself
	}{
		{"nothing, and not told", holding{changes: []world.Change{made}}, false, false, false},
		{"nothing", holding{changes: []world.Change{made}}, true, true, false},
		{"it was cut off", holding{changes: []world.Change{made}, cutOff: true}, true, false, false},
		{"its session ended before", holding{changes: []world.Change{made}, expired: 3}, true, false, false},
		{"its session ended later", holding{changes: []world.Change{made}, expired: 9}, true, true, false},
		{"its znode was deleted", holding{changes: []world.Change{made,
			change(wire.OpDelete, "/lock/a", 3, others)}}, true, false, false},
		{"its znode was deleted later", holding{changes: []world.Change{made,
			change(wire.OpDelete, "/lock/a", 9, others)}}, true, true, false},
		{"its znode was written to", holding{changes: []world.Change{made,
			change(wire.OpSetData, "/lock/a", 3, others)}}, true, false, false},
		{"another's znode was deleted", holding{changes: []world.Change{made,
			change(wire.OpDelete, "/lock/b", 3, others)}}, true, true, false},
		{"it removed a znode of two by itself", holding{changes: []world.Change{made,
			change(wire.OpCreate, "/lock/b", 1, own), change(wire.OpDelete, "/lock/b", 2, own)}}, true, true, false},
		{"it has no znode", holding{}, true, false, false},
		{"its recipe ends it", holding{changes: []world.Change{made}}, true, false, true},
	} {
		acquire := &world.Op{Name: "acquire", Number: own, Outcome: world.OK, SessionAt: 7,
			Call: world.StampOf(1), Return: world.StampOf(2)}
		if acquire.Data = (&Held{op: acquire, lost: test.told}); test.told {
			acquire.Told, acquire.SelfEnded = world.StampOf(5), test.ended
		}
		release := &world.Op{Name: "release", Outcome: world.OK, Call: world.StampOf(6), Return: world.StampOf(7)}
		v := &View{World: test.world, Ops: []*world.Op{acquire, release}}
		var j Judgement
		j.falseLost(v, v.Holds(lockContest.ways[0].Role))
		if accused := len(j.Violations) > 0; accused != test.accused {
			t.Errorf("%s: accused %v, want %v", test.name, accused, test.accused)
		}
	}
}

// What a holder does while it holds says nothing of when it was told that the hold is lost.
func TestInterludesTellNoLoss(t *testing.T) {
	acquire := &world.Op{Name: "acquire", Number: 1, Outcome: world.OK, SessionAt: 7, Call: world.StampOf(1), Return: world.StampOf(2)}
	acquire.Data, acquire.Told = &Held{op: acquire, lost: true}, world.StampOf(2)
	ops := []*world.Op{acquire}
	for i, name := range []string{"tally", "log", "inner", "reacquire"} {
		ops = append(ops, &world.Op{Name: name, Outcome: world.OK, Call: world.StampOf(3 + i), Return: world.StampOf(3 + i)})
	}
	created := world.Change{Change: fakezk.Change{Op: wire.OpCreate, Path: "/lock/a", Owner: 7}, Step: 1, By: 1}
	seen := holding{changes: []world.Change{created}, expired: 9}
	for next, accused := range map[int]bool{8: true, 10: false} {
		after := &world.Op{Name: "acquire", Outcome: world.Fail, Call: world.StampOf(next), Return: world.StampOf(next)}
		v := &View{World: seen, Ops: append(ops[:len(ops):len(ops)], after)}
		var j Judgement
		if j.falseLost(v, v.Holds(lockContest.ways[0].Role)); len(j.Violations) > 0 != accused {
			t.Errorf("the next operation begins at step %d, after the session ended at 9: accused %v", next, !accused)
		}
	}
}
