package workload

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/sim"
)

// View is an episode that is over, as its judge sees it: what the clients saw, and the world that can be asked.
type View struct {
	World
	Ops     []*sim.Op // in the order of their calls
	Waiting []*sim.Op // of these, those that had not returned when nothing moved any more
	terms   *terms    // of the recipe; nil: those of its kind
	Left    Leftovers // what may be left, as the judge says
}

// Who names the user of an operation.
func Who(op *sim.Op) string {
	name := fmt.Sprintf("c%d", op.Client+1)
	if op.User > 0 {
		name += fmt.Sprintf(" (user %d)", op.User+1)
	}
	return name
}

// When says when an operation was called and returned.
func (v *View) When(op *sim.Op) string {
	if op.Return == 0 {
		return v.Moment(op.Call)
	}
	return v.Span(op.Call, op.Return)
}

// call names an operation: "c1's claim at steps 3 to 5". callWith says its argument, too: "c1's add(2) at step 7".
func (v *View) call(op *sim.Op) string {
	return fmt.Sprintf("%s's %s at %s", Who(op), op.Name, v.When(op))
}

func (v *View) callWith(op *sim.Op) string {
	return fmt.Sprintf("%s's %s(%s) at %s", Who(op), op.Name, op.Arg, v.When(op))
}

// broken is a violation by operations.
func broken(property string, ops []*sim.Op, format string, args ...any) []sim.Violation {
	return []sim.Violation{{Property: property, Ops: ops, Message: fmt.Sprintf(format, args...)}}
}

// History turns operations into a history for a model, in the order of the returns; convert says what each contributes.
func (v *View) History(convert func(op *sim.Op, add func(linearizability.Operation))) linearizability.History {
	return byReturn(v.converted(convert))
}

// converted is History in the order of the calls.
func (v *View) converted(convert func(op *sim.Op, add func(linearizability.Operation))) linearizability.History {
	h := make(linearizability.History, 0, len(v.Ops)+len(v.Ops)/2)
	add := func(o linearizability.Operation) { h = append(h, o) }
	for _, op := range v.Ops {
		convert(op, add)
	}
	return h
}

// byReturn returns a history in the order of the returns. It sorts addresses: operations are large.
func byReturn(h linearizability.History) linearizability.History {
	order := make([]*linearizability.Operation, len(h))
	for i := range h {
		order[i] = &h[i]
	}
	slices.SortStableFunc(order, func(a, b *linearizability.Operation) int {
		return cmp.Or(cmp.Compare(a.Return, b.Return), cmp.Compare(a.Call, b.Call))
	})
	sorted := make(linearizability.History, len(h))
	for i, o := range order {
		sorted[i] = *o
	}
	return sorted
}

// where returns the operations that a condition holds for.
func where(ops []*sim.Op, holds func(op *sim.Op) bool) []*sim.Op {
	return slices.DeleteFunc(slices.Clone(ops), func(op *sim.Op) bool { return !holds(op) })
}

// still returns those of the waiting operations that have a name, but for those that have been cancelled already.
func still(waiting []*sim.Op, name string) []*sim.Op {
	return where(waiting, func(op *sim.Op) bool { return op.Name == name && !op.Cancelled })
}

// OperationOf is the part of a history's operation that is the same for all kinds: all but the argument and the result.
func OperationOf(op *sim.Op) linearizability.Operation {
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

// textOf is the whole operation of a kind whose arguments and results are texts; "" is none.
func textOf(op *sim.Op) linearizability.Operation {
	o := OperationOf(op)
	if op.Arg != "" {
		o.Arg = linearizability.Str(op.Arg)
	}
	if op.Result != "" {
		o.Result = linearizability.Str(op.Result)
	}
	return o
}

var outcomes = map[sim.Outcome]linearizability.Outcome{
	sim.OK: linearizability.OK, sim.Fail: linearizability.Fail,
	sim.Unknown: linearizability.Unknown, sim.Running: linearizability.Unknown,
}

// clientID numbers users over all clients and lives.
func clientID(op *sim.Op) int { return op.Incarnation*1000 + op.Client*10 + op.User }

// commits are what the servers committed, and the operations that may have asked for it.
type commits struct {
	all []sim.Change
	ops []*sim.Op
}

// commits are known where the world knows Changes.
func (v *View) commits() (commits, bool) {
	all, known := v.Changes()
	return commits{all, v.Ops}, known
}

// maker returns the operation that created a znode last; nil if none did.
func (c commits) maker(path string) *sim.Op {
	_, maker := c.creation(path)
	return maker
}

// creation returns the last creation of a znode, and the operation that asked for it; nil if none did.
func (c commits) creation(path string) (made sim.Change, maker *sim.Op) {
	for i := len(c.all) - 1; i >= 0; i-- {
		if change := &c.all[i]; change.Op == fakezk.OpCreate && change.Path == path {
			return *change, c.by(change)
		}
	}
	return made, nil
}

// by returns the operation that asked for a change; nil if none did.
func (c commits) by(change *sim.Change) *sim.Op {
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

// sortOf is a path without the numbers and identities in its name.
func sortOf(path string) string {
	parent := parentOf(path)
	return parent + varying.ReplaceAllString(path[len(parent):], "#")
}

var varying = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|-?[0-9a-f]{16,}|-?[0-9]+`)

func parentOf(path string) string {
	return path[:max(strings.LastIndexByte(path, '/'), 1)]
}

// UnexpectedErrors reports an operation that failed with an error that nothing explains: no fault had struck, or it is
// an answer of the servers that the recipe itself has to deal with. tolerated excuses those that the recipe may return.
func (v *View) UnexpectedErrors(tolerated func(op *sim.Op) bool) []sim.Violation {
	for _, op := range v.Ops {
		if op.Err == nil || op.Cancelled || tolerated(op) || v.terms.expects(op.Err) {
			continue
		}
		if surprising(op.Err) {
			return broken("unexpected-error", []*sim.Op{op},
				"%s failed with %q, an answer that the recipe itself has to deal with", v.callWith(op), op.Err)
		}
		if !v.Faulty() {
			return broken("unexpected-error", []*sim.Op{op},
				"%s failed with %q although no fault had struck", v.callWith(op), op.Err)
		}
	}
	return nil
}

// Leaks reports what is left after all users have finished: znodes and watches.
func (v *View) Leaks() []sim.Violation {
	if len(v.Waiting) > 0 {
		return nil
	}
	return v.LeftBehind(where(v.Ops, v.lives), v.Left)
}

// lives tells whether the process of an operation has not died, so that it can tidy up.
func (v *View) lives(op *sim.Op) bool {
	_, crashed := v.Crash(op.Client, op.Incarnation)
	return !crashed
}

// NotesOf is how many notes a client may keep, see [Leftovers].
func NotesOf(ops []*sim.Op, client int) int {
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
