package workload

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/zktorture/zktorture/fakezk/wire"
	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
)

// View is an episode that is over, as its judge sees it: what the clients saw, and the world that can be asked.
type View struct {
	World
	Ops     []*world.Op // in the order of their calls
	Waiting []*world.Op // of these, those that had not returned when nothing moved any more
	terms   *terms      // of the recipe; nil: those of its kind
	Left    Leftovers   // what may be left, as the judge says
	own     bool        // of a custom kind, simulated
}

// Who names the user of an operation.
func Who(op *world.Op) string {
	name := fmt.Sprintf("c%d", op.Client+1)
	if op.User > 0 {
		name += fmt.Sprintf(" (user %d)", op.User+1)
	}
	return name
}

// When says when an operation was called and returned.
func (v *View) When(op *world.Op) string {
	if op.Return == 0 {
		return v.Moment(op.Call)
	}
	return v.Span(op.Call, op.Return)
}

// call names an operation: "c1's claim at steps 3 to 5". CallWith says its argument, too: "c1's add(2) at step 7".
func (v *View) call(op *world.Op) string {
	return fmt.Sprintf("%s's %s at %s", Who(op), op.Name, v.When(op))
}

func (v *View) CallWith(op *world.Op) string {
	return fmt.Sprintf("%s's %s(%s) at %s", Who(op), op.Name, op.Arg, v.When(op))
}

// Broken is a violation by operations.
func Broken(property string, ops []*world.Op, format string, args ...any) []sim.Violation {
	return []sim.Violation{{Property: property, Ops: ops, Message: fmt.Sprintf(format, args...)}}
}

// Texts is a history of operations whose arguments and results are texts; "" is none.
func (v *View) Texts() linearizability.History {
	return v.History(func(op *world.Op, add func(linearizability.Operation)) { add(textOf(op)) })
}

// History turns operations into a history for a model, in the order of the returns; convert says what each contributes.
func (v *View) History(convert func(op *world.Op, add func(linearizability.Operation))) linearizability.History {
	return byReturn(v.converted(convert))
}

// converted is History in the order of the calls.
func (v *View) converted(convert func(op *world.Op, add func(linearizability.Operation))) linearizability.History {
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
func where(ops []*world.Op, holds func(op *world.Op) bool) []*world.Op {
	return slices.DeleteFunc(slices.Clone(ops), func(op *world.Op) bool { return !holds(op) })
}

// still returns those of the waiting operations that have a name, but for those that have been cancelled already.
func still(waiting []*world.Op, name string) []*world.Op {
	return where(waiting, func(op *world.Op) bool { return op.Name == name && !op.Cancelled })
}

// Operation is the part of a history's operation that is the same for all kinds: all but the argument and the result.
func (v *View) Operation(op *world.Op) linearizability.Operation { return operationOf(op) }

func operationOf(op *world.Op) linearizability.Operation {
	o := linearizability.Operation{
		Client: clientID(op), Op: op.Name, Call: op.Call, Return: op.Return,
		Outcome: outcomes[op.Outcome],
	}
	if op.Err != nil {
		o.Note = op.Err.Error()
	}
	if op.Outcome == world.Unknown || op.Outcome == world.Running {
		o.Return = linearizability.Forever
	}
	return o
}

// textOf is the whole operation of a kind whose arguments and results are texts; "" is none.
func textOf(op *world.Op) linearizability.Operation {
	o := operationOf(op)
	if op.Arg != "" {
		o.Arg = linearizability.Str(op.Arg)
	}
	if op.Result != "" {
		o.Result = linearizability.Str(op.Result)
	}
	return o
}

var outcomes = map[world.Outcome]linearizability.Outcome{
	world.OK: linearizability.OK, world.Fail: linearizability.Fail,
	world.Unknown: linearizability.Unknown, world.Running: linearizability.Unknown,
}

// SameUser reports whether operations are of one user, and of one life of its process.
func SameUser(a, b *world.Op) bool { return clientID(a) == clientID(b) }

// clientID numbers users over all clients and lives.
func clientID(op *world.Op) int { return op.Incarnation*1000 + op.Client*10 + op.User }

// commits are what the servers committed, and the operations that may have asked for it.
type commits struct {
	all []world.Change
	ops []*world.Op
}

// commits are known where the world knows Changes.
func (v *View) commits() (commits, bool) {
	all, known := v.Changes()
	return commits{all, v.Ops}, known
}

// maker returns the operation that created a znode last; nil if none did.
func (c commits) maker(path string) *world.Op {
	_, maker := c.creation(path)
	return maker
}

// creation returns the last creation of a znode, and the operation that asked for it; nil if none did.
func (c commits) creation(path string) (made *world.Change, maker *world.Op) {
	for i := len(c.all) - 1; i >= 0; i-- {
		if change := &c.all[i]; change.Op == wire.OpCreate && change.Path == path {
			return change, c.by(change)
		}
	}
	return nil, nil
}

// by returns the operation that asked for a change; nil if none did.
func (c commits) by(change *world.Change) *world.Op {
	byNumber := func(op *world.Op, n int64) int { return cmp.Compare(op.Number, n) } // which grow from call to call
	i, found := slices.BinarySearchFunc(c.ops, change.By, byNumber)
	if !found || change.By == 0 {
		return nil
	}
	return c.ops[i]
}

// sortOf is a path without the numbers and identities in its name.
func sortOf(path string) string {
	parent := parentOf(path)
	return parent + varying.ReplaceAllString(path[len(parent):], "#")
}

var varying = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|-?[0-9a-f]{16,}|-?[0-9]+`)

func parentOf(path string) string { return path[:max(strings.LastIndexByte(path, '/'), 1)] }

// UnexpectedErrors reports an operation that failed with an error that nothing explains: no fault had struck, or it is
// an answer of the servers that the recipe itself must handle. tolerated excuses those that the recipe may return.
func (v *View) UnexpectedErrors(tolerated func(op *world.Op) bool) []sim.Violation {
	for i, op := range v.Ops {
		if op.Err == nil || op.Cancelled || tolerated(op) {
			continue
		}
		if v.own && !v.Faulty() && !slices.ContainsFunc(v.Ops[:i], func(o *world.Op) bool { return clientID(o) == clientID(op) }) {
			return Broken("startup", []*world.Op{op},
				"%s, its first call, failed with %q although no fault had struck", v.CallWith(op), op.Err)
		}
		if Refused(op.Err) {
			return Broken("unexpected-error", []*world.Op{op},
				"%s returned ZooKeeper's %q to its caller: the recipe must handle it", v.CallWith(op), op.Err)
		}
		if !v.Faulty() {
			return Broken("unexpected-error", []*world.Op{op},
				"%s failed with %q although no fault had struck", v.CallWith(op), op.Err)
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

// lives reports whether the process of an operation has not died, so that it can tidy up.
func (v *View) lives(op *world.Op) bool {
	_, crashed := v.Crash(op.Client, op.Incarnation)
	return !crashed
}

// NotesOf is how many notes a client may keep.
func (l Leftovers) NotesOf(ops []*world.Op, client int) int {
	users, failed := map[int]bool{}, 0
	for _, op := range ops {
		if op.Client != client {
			continue
		}
		users[op.User] = true
		if op.Outcome != world.OK {
			failed++
		}
	}
	return len(users) + failed
}

// World tells judges what users cannot know, after an episode is over. A world may know everything, or see some things
// only from outside or not at all. If it does not know an answer the result named known is false, and a property that
// needs the answer is not judged ([Judgement.Judges]).
type World interface {
	// Faulty reports whether faults struck, so that errors are to be expected.
	Faulty() bool

	// Moment names a stamp in a sentence: "step 7", "0.25 s". Span names a time between two.
	Moment(stamp int64) string
	Span(from, to int64) string

	// SessionEnd returns the last stamp at which a session was surely alive, and false if it did not end. SessionGone
	// returns the first stamp at which it had surely ended. They are equal in a world that knows everything.
	SessionEnd(session int64) (end int64, ended bool)
	SessionGone(session int64) (since int64, known bool)
	// Crash returns when the process of a client with the number life died, and false if it did not.
	Crash(client, life int) (at int64, crashed bool)

	// CutOff reports whether, between two stamps, a client did not hear its servers for a third of the session timeout
	// or more.
	CutOff(client int, from, to int64) bool

	// FaultFree returns a lower bound of the time between two stamps, by the servers' clock, in which no fault was in
	// effect.
	FaultFree(from, to int64) (d time.Duration, known bool)

	// Beliefs reports whether it is known when, among its own steps, a process was told that its session was gone.
	Beliefs() (known bool)

	// Changes returns what the servers committed, in order, with the operation that asked for each.
	Changes() (all []world.Change, known bool)
	// Herds returns the deletions whose events waiting operations got, with these.
	Herds() (all []world.Herd, known bool)

	// Explain says in a sentence what an operation waits for that has not returned, as far as that can be seen.
	Explain(op *world.Op) world.Sentence
	// Blocked says what keeps an operation from what it waits for in a queue of znodes; nothing if that is another
	// waiting operation. noun names what it waits for: "the lock".
	Blocked(op *world.Op, noun string) sim.Violation
	// Abandoned returns an ephemeral znode below a path whose operation is over and that inUse does not excuse, and
	// that operation; nil if there is none.
	Abandoned(of []*world.Op, below string, inUse func(maker *world.Op) bool) (path string, maker *world.Op, known bool)
	// Remains reports whether something is there that an operation made, or may have made.
	Remains(op *world.Op) bool
	// LeftBehind returns what was left behind when all users had finished.
	LeftBehind(of []*world.Op, allowed Leftovers) []sim.Violation
}

// Leftovers is what a recipe may leave behind.
type Leftovers struct {
	Path   string // the object's own znode
	Values bool   // persistent znodes may be what the object is made of, or an earlier one was
	// Notes says that users keep ephemeral znodes as long as their session lives: one for each user, and one for each
	// operation that has failed, as what may not be there cannot be tidied up.
	Notes bool
}

// Interlude reports whether a znode is what holders have left on their interludes, beside the object. It is not judged.
func (l Leftovers) Interlude(path string) bool {
	ending, beside := strings.CutPrefix(path, l.Path)
	return beside && (strings.HasPrefix(ending, tallyEnding) || strings.HasPrefix(ending, logEnding))
}
