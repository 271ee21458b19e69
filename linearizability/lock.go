package linearizability

import (
	"slices"

	"github.com/anishathalye/porcupine"
	"github.com/zktorture/zktorture/linearizability/internal/interval"
	"github.com/zktorture/zktorture/linearizability/internal/monitor"
	"github.com/zktorture/zktorture/linearizability/internal/parallel"
	"github.com/zktorture/zktorture/linearizability/internal/persistent"
	"github.com/zktorture/zktorture/linearizability/internal/step"
	"github.com/zktorture/zktorture/linearizability/operations"
)

// Lock returns the model of a lock that is held by one client at a time, with or without fencing tokens (Kleppmann,
// "How to do distributed locking", 2016).
//
//	acquire  waits for the lock; the result is the token, a number, or null if there are none
//	try      does not wait; the result is the token or true, or null, false or 0 if the lock was
//	         not granted
//	release  gives the lock back
//
// The rules: a lock is granted only while nobody holds it; every token is greater than all tokens granted earlier; a
// release is legal only while its own process, see [Operation], holds the lock, by its last grant of outcome ok
// before the release or by one of unknown outcome since then. For what is before and after in this sense, a process's
// operations are in order of call, and those called at the same instant in the order that the history has; where they
// touch they may take effect in either order nevertheless.
//
// A try that is refused is accepted always: ZooKeeper's recipe refuses also when somebody is merely waiting in the
// queue. One of unknown outcome may have been granted the lock, whatever its result.
//
// A release of unknown outcome ends its hold at any time from its call on, or never. So does the death of the
// holder's session; record it as a release of unknown outcome. After such a release, and until the process is surely
// granted the lock again, all further releases may find the hold over and are legal all the same: they are retries, of
// which nothing is asked but that the process had called for the lock before the first. An acquire of unknown outcome
// blocks nobody, unless a release of outcome ok says that it was granted.
func Lock() Model {
	return Model{
		Name:       "lock",
		Operations: operationsOf("lock"),
		problem:    lockProblem,
		item:       (*Operation).Owner,
		conflict:   releaseWithoutAcquire,
		prepare:    prepareLock,
		spec:       lockSpec,
		monitor:    monitor.Lock,
		streamer:   &streamer{pending: pendingHold, forget: forgetHolds},
		explain:    explainLock,
	}
}

func lockProblem(op *Operation) string {
	switch {
	case !op.Arg.IsNull():
		return "operations of a lock have no argument; leave it null"
	case op.Op == "release" && !op.Result.IsNull():
		return "a release has no result; leave it null"
	case op.Op == "acquire" && !op.Result.IsNull() && !op.Result.IsInt():
		return "an acquire's result is its token, a whole number, or null"
	case op.Op == "try" && op.Result.kind == kindStr:
		return "a try's result is its token, a whole number, or true, false or null"
	}
	return ""
}

// releaseWithoutAcquire finds a release by a process that never called for the lock.
func releaseWithoutAcquire(h History, processes []int32) (int, string) {
	return releaseWithoutAcquireBy(parallel.Parts(len(h)), h, processes)
}

func releaseWithoutAcquireBy(goroutines int, h History, processes []int32) (int, string) {
	first := slices.Repeat([]int64{Forever}, int(itemCount(processes))) // by process: when it first called for the lock
	firsts := make([][]int64, goroutines)                               // … in a part of the history
	parallel.Do(len(h), goroutines, func(k, from, to int) {
		firsts[k] = slices.Clone(first)
		for i := from; i < to; i++ {
			if !h[i].releases() {
				firsts[k][processes[i]] = min(firsts[k][processes[i]], h[i].Call)
			}
		}
	})
	for _, part := range firsts {
		for process, call := range part {
			first[process] = min(first[process], call)
		}
	}
	wrong := slices.Repeat([]int{step.None}, goroutines)
	parallel.Do(len(h), goroutines, func(k, from, to int) {
		for i := from; i < to && wrong[k] == step.None; i++ {
			if op := &h[i]; op.Outcome == OK && op.Call < first[processes[i]] && op.releases() {
				wrong[k] = i
			}
		}
	})
	for _, i := range wrong {
		if i != step.None {
			return i, "its client had not called acquire or try before; record these too, and under the same " +
				"client or process"
		}
	}
	return 0, ""
}

// releases, reads, tries: what an operation of a lock is by its name.
func (o *Operation) releases() bool { return o.kind().Role == operations.Release }
func (o *Operation) reads() bool    { return o.kind().Reader }

// mayGrant reports whether the operation gave its client the lock, or may have.
func mayGrant(op *Operation) bool {
	return op.kind().Role == operations.Grant && op.Outcome != Fail && !op.Vain()
}

// prepareLock pairs grants with releases by process, in order of call. A hold begins with a grant of outcome ok. A
// later grant of unknown outcome joins the hold: a release after it ends the one or the other. It leaves out
//
//   - what failed: it had no effect; and tries that were refused: they are accepted always;
//   - grants of unknown outcome that no release insists on: if there is an order in which they took effect, there is
//     the same order without them, as a hold only restricts others;
//   - releases that insist on nothing and have no hold to end: they have no effect.
func prepareLock(h History, processes []int32) []step.Step {
	steps, _ := pairHolds(parallel.Parts(len(h)), h, processes)
	return dropIdle(steps)
}

// lastHold is the hold that a process was last granted with so many permits.
type lastHold struct {
	permits int64
	item    int32
}

// pairHolds is prepareLock, by so many goroutines and without dropIdle. It also returns, by process, the items to which
// later operations may belong.
func pairHolds(goroutines int, h History, processes []int32) ([]step.Step, [][]lastHold) {
	steps := holdSteps(goroutines, h)
	held := make([][]lastHold, itemCount(processes))
	released := make([]bool, len(steps)) // by hold: perhaps, by a release of unknown outcome
	for i := range steps {
		s := &steps[i]
		hold := s.Hold()
		hold.Order = int32(i)
		own := &held[processes[s.Source]]
		at := slices.IndexFunc(*own, func(l lastHold) bool { return l.permits == hold.Permits })
		switch {
		case s.Kind == step.Grant && at == step.None:
			s.Item = int32(i)
			*own = append(*own, lastHold{hold.Permits, s.Item})
		case s.Kind == step.Grant:
			if !s.Unknown {
				(*own)[at].item = int32(i)
			}
			s.Item = (*own)[at].item
		case at == step.None:
			s.Droppable = true
		default:
			s.Item = (*own)[at].item
			hold.Excused = released[s.Item]
			released[s.Item] = released[s.Item] || s.Unknown
		}
	}
	return steps, held
}

// holdSteps returns the grants and releases that may have taken effect, in order of call, and not paired.
func holdSteps(goroutines int, h History) []step.Step {
	order := byCall(h)
	steps, parts, holds := make([]step.Step, len(h)), make([][]step.Step, goroutines), make([]step.Holding, len(h))
	parallel.Do(len(h), goroutines, func(k, from, to int) {
		part := steps[from:from:to]
		for _, i := range order[from:to] {
			op, hold := &h[i], &holds[i]
			hold.Permits = op.permits()
			switch {
			case mayGrant(op):
				part = append(part, newGrant(op, i, step.NoItem, hold))
			case op.Outcome != Fail && op.releases():
				part = append(part, newRelease(op, i, step.NoItem, hold))
			}
		}
		parts[k] = part
	})
	return parallel.Joined(steps, parts)
}

func newGrant(op *Operation, i int, item int32, hold *step.Holding) step.Step {
	s := newStep(op, i, step.Grant, item)
	hold.Token, hold.Reads = op.Result.Int(), op.reads()
	s.Null, s.With = !op.Result.IsInt() || op.kind().Tries && hold.Token == 0, hold
	return s
}

func newRelease(op *Operation, i int, item int32, hold *step.Holding) step.Step {
	s := newStep(op, i, step.Release, item)
	s.With = hold
	return s
}

// byCall returns the indices of h in order of call, then of place.
func byCall(h History) []int { return interval.Order(h, func(o *Operation) int64 { return o.Call }) }

// dropIdle leaves out the grants of unknown outcome that no release insists on, and the releases of such holds.
func dropIdle(steps []step.Step) []step.Step {
	insisted := make([]bool, len(steps)) // by hold
	granted := make([]bool, len(steps))  // by hold
	for i := len(steps) - 1; i >= 0; i-- {
		s := &steps[i]
		switch {
		case s.Item == step.NoItem:
		case s.Hold().Doubt != nil:
			granted[s.Item] = true
		case s.Kind != step.Grant:
			insisted[s.Item] = insisted[s.Item] || !s.Unknown && !s.Hold().Excused
		case s.Unknown && !insisted[s.Item]:
			s.Item = step.NoItem
		default:
			granted[s.Item] = true
		}
	}
	return slices.DeleteFunc(steps, func(s step.Step) bool {
		return s.Item == step.NoItem && s.Unknown || s.Item != step.NoItem && !granted[s.Item]
	})
}

// lockState is who holds the lock, and the greatest token granted.
type lockState struct {
	hold    int32
	order   int32 // of the grant; a release that was called before it does not end it
	granted bool  // whether any token was
	token   int64
}

var lockSpec = specOf(lockState{hold: step.NoItem}, stepLock, func(l lockState) uint64 {
	return persistent.Mix(uint64(l.hold)) ^ persistent.Mix(^uint64(l.token))
}, nil)

func stepLock(l lockState, s *step.Step) (bool, lockState) {
	switch {
	case s.Kind == step.Release && s.Item != step.NoItem && s.Item == l.hold && l.order < s.Hold().Order:
		l.hold, l.order = step.NoItem, 0
		return true, l
	case s.Kind == step.Release:
		return s.Unknown || s.Hold().Excused, l
	case l.hold != step.NoItem || !s.Null && l.granted && s.Hold().Token <= l.token:
		return s.Unknown, l
	}
	l.hold, l.order = s.Item, s.Hold().Order
	if !s.Null {
		l.granted, l.token = true, s.Hold().Token
	}
	return true, l
}

// explainLock tells apart what is wrong even if tokens are ignored, and what is wrong with tokens.
func explainLock(j *judge, steps []step.Step) step.Finding {
	untokened := slices.Clone(steps)
	for i := range untokened {
		untokened[i].Null = true
	}
	switch j.ask(untokened) {
	case porcupine.Illegal:
		return explainHolds(j, j.shrink(untokened))
	case porcupine.Ok:
		return step.Finding{Property: "fencing", Steps: j.shrink(steps)}
	}
	return unexplained(steps)
}

// explainHolds tells overlapping holds from releases without a hold, which are illegal even if all holds are shared.
func explainHolds(j *judge, certificate []step.Step) step.Finding {
	items, doubtful := make(map[int32]bool), false
	alone := slices.Clone(certificate)
	for i := range alone {
		items[alone[i].Item] = true
		doubtful = doubtful || alone[i].Hold().Doubt != nil
		shared := *alone[i].Hold()
		shared.Reads = true
		alone[i].With = &shared
	}
	if len(items) > 1 || doubtful && j.ask(alone) == porcupine.Ok {
		return step.Finding{Property: "exclusion", Steps: certificate}
	}
	return step.Finding{Property: "release", Steps: certificate}
}

// What can be forgotten of a lock, an election or a semaphore. Let a cut be legal, and first be the first call of
// what is pending. All that is learned later concerns the time from first on: a grant cannot take effect before its
// call, and a hold that lasts at the cut was surely held until then.
//
// So a tenure that is over before first excludes nothing any more. It is still needed
//
//   - while its process may give back the same hold once more, or join it: until it is granted another;
//   - if its token is the greatest: all that come later need greater ones;
//   - if it may leave no room to one of no length that is not over, and may sit where it was.
//
// What is remembered is therefore the holds that last, what is pending, and the last hold of each process.

// pendingHold is an operation on holds before it has returned.
func pendingHold(op Operation) (Operation, bool) {
	op.Outcome = Unknown
	return op, true
}

func forgetHolds(c cut) (forget []bool, doubt string) {
	steps, held := pairHolds(1, c.history, numberItems(c.history, (*Operation).Owner))
	needed := make([]bool, len(c.history)+1) // by item
	for _, own := range held {
		for _, last := range own {
			needed[last.item] = true
		}
	}
	for i := range steps {
		if s := &steps[i]; s.Item >= 0 && c.pending[s.Source] {
			needed[s.Item] = true
		}
	}
	monitor.Tenures(dropIdle(slices.Clone(steps))).Need(needed, c.first)
	return forgotten(c, steps, needed), ""
}

// forgotten tells which operations belong to no item that is needed; those that prepare leaves out belong to none.
func forgotten(c cut, steps []step.Step, needed []bool) []bool {
	forget := make([]bool, len(c.history))
	for i := range forget {
		forget[i] = true
	}
	for i := range steps {
		if s := &steps[i]; s.Item < 0 || needed[s.Item] {
			forget[s.Source] = false
		}
	}
	return forget
}
