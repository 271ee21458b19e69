package linearizability

import (
	"slices"

	"github.com/anishathalye/porcupine"
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
		item:       (*Operation).owner,
		conflict:   releaseWithoutAcquire,
		prepare:    prepareLock,
		spec:       lockSpec,
		monitor:    lockMonitor,
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
	return releaseWithoutAcquireBy(partsOf(len(h)), h, processes)
}

func releaseWithoutAcquireBy(goroutines int, h History, processes []int32) (int, string) {
	first := slices.Repeat([]int64{Forever}, int(itemCount(processes))) // by process: when it first called for the lock
	firsts := make([][]int64, goroutines)                               // … in a part of the history
	inParts(len(h), goroutines, func(k, from, to int) {
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
	wrong := slices.Repeat([]int{none}, goroutines)
	inParts(len(h), goroutines, func(k, from, to int) {
		for i := from; i < to && wrong[k] == none; i++ {
			if op := &h[i]; op.Outcome == OK && op.Call < first[processes[i]] && op.releases() {
				wrong[k] = i
			}
		}
	})
	for _, i := range wrong {
		if i != none {
			return i, "its client had not called acquire or try before; record these too, and under the same " +
				"client or process"
		}
	}
	return 0, ""
}

// releases, reads, tries: what an operation of a lock is by its name.
func (o *Operation) releases() bool { return o.kind().Role == RoleRelease }
func (o *Operation) reads() bool    { return o.kind().Reader }
func (o *Operation) tries() bool    { return o.kind().Tries }

// mayGrant tells whether the operation gave its client the lock, or may have.
func mayGrant(op *Operation) bool {
	switch kind := op.kind(); {
	case kind.Role != RoleGrant || op.Outcome == Fail:
		return false
	case !kind.Tries || op.Outcome == Unknown:
		return true
	}
	return op.Result != Null && op.Result != Bool(false) && op.Result != Int(0)
}

// prepareLock pairs grants with releases by process, in order of call. A hold begins with a grant of outcome ok. A
// later grant of unknown outcome joins the hold: a release after it ends the one or the other. It leaves out
//
//   - what failed: it had no effect; and tries that were refused: they are accepted always;
//   - grants of unknown outcome that no release insists on: if there is an order in which they took effect, there is
//     the same order without them, as a hold only restricts others;
//   - releases that insist on nothing and have no hold to end: they have no effect.
func prepareLock(h History, processes []int32) []step {
	steps, _ := pairHolds(partsOf(len(h)), h, processes)
	return dropIdle(steps)
}

// lastHold is the hold that a process was last granted with so many permits.
type lastHold struct {
	permits int64
	item    int32
}

// pairHolds is prepareLock, by so many goroutines and without dropIdle. It also returns, by process, the items to which
// later operations may belong.
func pairHolds(goroutines int, h History, processes []int32) ([]step, [][]lastHold) {
	steps := holdSteps(goroutines, h)
	held := make([][]lastHold, itemCount(processes))
	released := make([]bool, len(steps)) // by hold: perhaps, by a release of unknown outcome
	for i := range steps {
		s := &steps[i]
		s.order = int32(i)
		own := &held[processes[s.source]]
		at := slices.IndexFunc(*own, func(l lastHold) bool { return l.permits == s.permits })
		switch {
		case s.kind == stepGrant && at == none:
			s.item = int32(i)
			*own = append(*own, lastHold{s.permits, s.item})
		case s.kind == stepGrant:
			if !s.unknown {
				(*own)[at].item = int32(i)
			}
			s.item = (*own)[at].item
		case at == none:
			s.droppable = true
		default:
			s.item = (*own)[at].item
			s.excused = released[s.item]
			released[s.item] = released[s.item] || s.unknown
		}
	}
	return steps, held
}

// holdSteps returns the grants and releases that may have taken effect, in order of call, and not paired.
func holdSteps(goroutines int, h History) []step {
	order := byCall(h)
	steps, parts := make([]step, len(h)), make([][]step, goroutines)
	inParts(len(h), goroutines, func(k, from, to int) {
		part := steps[from:from:to]
		for _, i := range order[from:to] {
			op := &h[i]
			switch {
			case mayGrant(op):
				part = append(part, newGrant(op, i, noItem))
			case op.Outcome != Fail && op.releases():
				part = append(part, newStep(op, i, stepRelease, noItem))
			default:
				continue
			}
			part[len(part)-1].permits = op.permits()
		}
		parts[k] = part
	})
	return joined(steps, parts)
}

func newGrant(op *Operation, i int, hold int32) step {
	s := newStep(op, i, stepGrant, hold)
	s.token = op.Result.Int()
	s.noToken = !op.Result.IsInt() || op.tries() && s.token == 0
	s.reads = op.reads()
	return s
}

// byCall returns the indices of h in order of call, then of place.
func byCall(h History) []int {
	calls := make([]mark, len(h))
	for i := range h {
		calls[i] = mark{h[i].Call, int32(i)}
	}
	sortMarks(calls)
	order := make([]int, len(h))
	for i, call := range calls {
		order[i] = int(call.what)
	}
	return order
}

// dropIdle leaves out the grants of unknown outcome that no release insists on, and the releases of such holds.
func dropIdle(steps []step) []step {
	insisted := make([]bool, len(steps)) // by hold
	granted := make([]bool, len(steps))  // by hold
	for i := len(steps) - 1; i >= 0; i-- {
		s := &steps[i]
		switch {
		case s.item == noItem:
		case s.doubt != nil:
			granted[s.item] = true
		case s.kind != stepGrant:
			insisted[s.item] = insisted[s.item] || !s.unknown && !s.excused
		case s.unknown && !insisted[s.item]:
			s.item = noItem
		default:
			granted[s.item] = true
		}
	}
	return slices.DeleteFunc(steps, func(s step) bool {
		return s.item == noItem && s.unknown || s.item != noItem && !granted[s.item]
	})
}

// lockState is who holds the lock, and the greatest token granted.
type lockState struct {
	hold    int32
	order   int32 // of the grant; a release that was called before it does not end it
	granted bool  // whether any token was
	token   int64
}

var lockSpec = porcupine.Model{
	Init: func() any { return lockState{hold: noItem} },
	Step: func(state, input, _ any) (bool, any) {
		legal, next := stepLock(state.(lockState), input.(*step))
		return legal, next
	},
	Hash: func(state any) uint64 {
		s := state.(lockState)
		return mix(uint64(s.hold)) ^ mix(^uint64(s.token))
	},
}

func stepLock(l lockState, s *step) (bool, lockState) {
	switch {
	case s.kind == stepRelease && s.item != noItem && s.item == l.hold && l.order < s.order:
		l.hold, l.order = noItem, 0
		return true, l
	case s.kind == stepRelease:
		return s.unknown || s.excused, l
	case l.hold != noItem || !s.noToken && l.granted && s.token <= l.token:
		return s.unknown, l
	}
	l.hold, l.order = s.item, s.order
	if !s.noToken {
		l.granted, l.token = true, s.token
	}
	return true, l
}

// explainLock tells apart what is wrong even if tokens are ignored, and what is wrong with tokens.
func explainLock(j *judge, steps []step) finding {
	untokened := slices.Clone(steps)
	for i := range untokened {
		untokened[i].noToken = true
	}
	switch j.ask(untokened) {
	case porcupine.Illegal:
		return explainHolds(j, j.shrink(untokened))
	case porcupine.Ok:
		return finding{"fencing", j.shrink(steps)}
	}
	return unexplained(steps)
}

// explainHolds tells overlapping holds from releases without a hold, which are illegal even if all holds are shared.
func explainHolds(j *judge, certificate []step) finding {
	items, doubtful := make(map[int32]bool), false
	alone := slices.Clone(certificate)
	for i := range alone {
		items[alone[i].item] = true
		doubtful = doubtful || alone[i].doubt != nil
		alone[i].reads = true
	}
	if len(items) > 1 || doubtful && j.ask(alone) == porcupine.Ok {
		return finding{"exclusion", certificate}
	}
	return finding{"release", certificate}
}
