package workload

import (
	"fmt"
	"strings"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/sim"
)

// view is an episode that is over, as its judge sees it: what the clients saw, and the world that can be asked.
type view struct {
	World
	ops     []*sim.Op
	waiting []*sim.Op // of these, those that had not returned when nothing moved any more
	left    Leftovers // what may be left
}

// who names the user of an operation.
func who(op *sim.Op) string {
	name := fmt.Sprintf("c%d", op.Client+1)
	if op.User > 0 {
		name += fmt.Sprintf(" (user %d)", op.User+1)
	}
	return name
}

// when prints when an operation was called and returned.
func (v *view) when(op *sim.Op) string {
	if op.Return == 0 {
		return v.Moment(op.Call)
	}
	return v.Span(op.Call, op.Return)
}

// history turns operations into a history; convert says what each contributes.
func (v *view) history(convert func(op *sim.Op, add func(linearizability.Operation))) linearizability.History {
	var h linearizability.History
	for _, op := range v.ops {
		convert(op, func(o linearizability.Operation) { h = append(h, o) })
	}
	return h
}

// base is the part of a history's operation that is the same for all kinds.
func base(v *view, op *sim.Op) linearizability.Operation {
	o := linearizability.Operation{
		Client: clientID(op), Op: op.Name, Call: op.Call, Return: op.Return,
		Outcome: outcomes[op.Outcome],
	}
	if op.Err != nil {
		o.Note = op.Err.Error()
	}
	if op.Outcome == sim.Unknown || op.Outcome == sim.Running {
		o.Return = linearizability.Forever
	}
	return o
}

var outcomes = map[sim.Outcome]linearizability.Outcome{
	sim.OK: linearizability.OK, sim.Fail: linearizability.Fail,
	sim.Unknown: linearizability.Unknown, sim.Running: linearizability.Unknown,
}

// clientID numbers users over all clients and lives.
func clientID(op *sim.Op) int { return op.Life*1000 + op.Client*10 + op.User }

// commits are what the servers committed, and the operations that may have asked for it.
type commits struct {
	all []sim.Change
	ops []*sim.Op
}

// commits are known in simulation only.
func (v *view) commits() (commits, bool) {
	all, known := v.Changes()
	return commits{all, v.ops}, known
}

// maker returns the operation that created a znode last; nil if none did.
func (c commits) maker(path string) *sim.Op {
	_, maker := c.creation(path)
	return maker
}

// creation returns the last creation of a znode, and the operation that asked for it; nil if none did.
func (c commits) creation(path string) (made sim.Change, maker *sim.Op) {
	for _, change := range c.all {
		if change.Op == fakezk.OpCreate && change.Path == path {
			made = change
		}
	}
	return made, c.by(made)
}

// by returns the operation that asked for a change; nil if none did.
func (c commits) by(change sim.Change) *sim.Op {
	if change.By == 0 {
		return nil
	}
	for _, op := range c.ops {
		if op.Number == change.By {
			return op
		}
	}
	return nil
}

func parentOf(path string) string {
	return path[:max(strings.LastIndexByte(path, '/'), 1)]
}

// errorsOf reports operations that failed with an error that nothing explains.
func (v *view) errorsOf(tolerated func(op *sim.Op) bool) []sim.Violation {
	for _, op := range v.ops {
		if op.Err == nil || op.Cancelled || tolerated(op) {
			continue
		}
		if surprising(op.Err) {
			return []sim.Violation{{Property: "unexpected-error", Ops: []*sim.Op{op}, Message: fmt.Sprintf(
				"%s's %s(%s) at %s failed with %q, an answer that the recipe itself has to deal with",
				who(op), op.Name, op.Arg, v.when(op), op.Err)}}
		}
		if !v.Faulty() {
			return []sim.Violation{{Property: "unexpected-error", Ops: []*sim.Op{op}, Message: fmt.Sprintf(
				"%s's %s(%s) at %s failed with %q although no fault had struck", who(op), op.Name, op.Arg, v.when(op), op.Err)}}
		}
	}
	return nil
}

// leaks reports what is left after everybody has finished.
func (v *view) leaks() []sim.Violation {
	if len(v.waiting) > 0 {
		return nil
	}
	return v.Leaks(v.ops, v.left)
}

// notesOf is how many notes a client may keep, see [Leftovers].
func notesOf(ops []*sim.Op, client int) int {
	users, failed := map[int]bool{}, 0
	for _, op := range ops {
		if op.Client != client {
			continue
		}
		users[op.User] = true
		if op.Outcome != sim.OK {
			failed++
		}
	}
	return len(users) + failed
}
