package workload

import (
	"errors"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
)

// truthful is promised of kinds whose recipes tell that a hold is lost.
var truthful = Promise{
	Names: []string{"false-lost"},
	Text:  "a hold is not reported as lost while its session is alive and its znode exists and is unchanged",
}

// falseLost: a hold is said to be lost, by the channel Lost or by a release that fails with [recipes.ErrLost], although
// nothing has happened to it: what its operation made and has not removed itself is there and as it was, under sessions
// that live. A lost connection is no lost session (ZooKeeper Programmer's Guide, "ZooKeeper Sessions"), and IsOwner is
// there to say that a hold is in doubt. But a client that has heard nothing for a third of the session timeout may go
// by its own clock, and a recipe that ends a hold by itself tells the truth: neither is accused.
func (j *Judgement) falseLost(v *View, holds []interval) {
	made, known := v.commits()
	if !j.Judges("false-lost", known) {
		return
	}
	for _, iv := range holds {
		told := v.toldLost(iv)
		if told == 0 || iv.op.SelfEnded || !made.intact(v, iv.op, told) || v.CutOff(iv.op.Client, iv.op.Call, told) {
			continue
		}
		j.Add(sim.Violation{Property: "false-lost", Ops: []*sim.Op{iv.op}}.Saying(
			"%s, whose %s returned at %s, is told by %s that its hold is lost, "+
				"although session %v lives, and the znode is there",
			Who(iv.op), iv.op.Name, v.Moment(iv.op.Return), v.Moment(told), sim.SessionID(iv.op.SessionAt)))
		return
	}
}

// toldLost is the stamp of a moment at which the user of a hold had been told that it was lost; 0 if it was not. Without a
// release it is the next time that the user acquires: what it does before may be done within the hold.
func (v *View) toldLost(iv interval) int64 {
	if iv.release != nil && errors.Is(iv.release.Err, recipes.ErrLost) {
		return iv.release.Return
	}
	if !iv.op.Data.(*hold).lost {
		return 0
	}
	if iv.release != nil {
		return iv.release.Call
	}
	for _, op := range v.Ops {
		if clientID(op) == clientID(iv.op) && op.Call > iv.op.Call && op.Name == iv.op.Name {
			return op.Call
		}
	}
	return 0
}

// intact tells whether an operation has made ephemeral znodes, all of which were there at a moment as it had left them,
// under sessions that lived. What it has deleted itself does not count.
func (c commits) intact(v *View, op *sim.Op, at int64) bool {
	there := map[string]bool{}
	for _, change := range c.all {
		if change.Step > sim.StepOf(at) {
			break
		}
		own := change.By == op.Number
		switch {
		case change.Op == fakezk.OpCreate && own && change.Owner != 0:
			if end, ended := v.SessionEnd(change.Owner); ended && end <= at {
				return false
			}
			there[change.Path] = true
		case !there[change.Path]:
		case change.Op == fakezk.OpDelete && own:
			delete(there, change.Path)
		case !own:
			return false
		}
	}
	return len(there) > 0
}
