package linearizability

import (
	"fmt"
	"slices"

	"github.com/anishathalye/porcupine"
	"github.com/zktorture/zktorture/linearizability/internal/monitor"
	"github.com/zktorture/zktorture/linearizability/internal/parallel"
	"github.com/zktorture/zktorture/linearizability/internal/persistent"
	"github.com/zktorture/zktorture/linearizability/internal/step"
)

// Queue returns the model of an unbounded first-in-first-out queue.
//
//	offer  puts its argument at the tail; no two offers have the same argument
//	poll   removes the head; the result is null if the queue is empty
//	take   removes the head, and waits for one
//	peek   returns the head without removing it; the result is null if the queue is empty
//
// A poll or take of unknown outcome removes the head at any time from its call on, or nothing. If the value is known
// that it tried to remove (put it into the result) it removes only that.
//
// ZooKeeper's reads are not linearizable (Programmer's Guide, "Consistency Guarantees"): a replica that lags may say
// empty for a while after an offer elsewhere. Where a recipe does not promise more, judge what StaleReads of package histories makes of
// the history.
func Queue() Model {
	return Model{
		Name:       "queue",
		Operations: operationsOf("queue"),
		problem:    queueProblem,
		item:       queueItem,
		conflict: func(h History, items []int32) (int, string) {
			return offeredTwice(parallel.Parts(len(h)), h, items)
		},
		prepare:  prepareQueue,
		spec:     queueSpec,
		monitor:  monitor.Queue,
		streamer: &streamer{pending: pendingQueue, forget: forgetQueue},
		explain:  explainQueue,
	}
}

func queueProblem(op *Operation) string {
	switch {
	case op.Op == "offer" && op.Arg.IsNull():
		return "an offer's argument is the value offered, and not null"
	case op.Op == "offer" && !op.Result.IsNull():
		return "an offer has no result; leave it null"
	case op.Op != "offer" && !op.Arg.IsNull():
		return fmt.Sprintf("a %s has no argument; leave it null", op.Op)
	case op.Op == "take" && op.Outcome == OK && op.Result.IsNull():
		return "a take of outcome ok has a value; one that finds the queue empty waits"
	}
	return ""
}

// queueItem is the value that is put in, seen or taken out. Those of operations without effect do not count.
func queueItem(op *Operation) Value {
	switch {
	case op.idle():
		return Null
	case op.Op == "offer":
		return op.Arg
	}
	return op.Result
}

// idle reports whether an operation of a queue surely has no effect, and says nothing.
func (o *Operation) idle() bool { return o.Outcome == Fail || o.Outcome == Unknown && o.Op == "peek" }

// offeredTwice finds a value that is offered for the second time.
func offeredTwice(goroutines int, h History, items []int32) (int, string) {
	count := itemCount(items)
	offers := make([][]int32, goroutines) // by value: the operation that first offered it in a part, or 0, plus 1
	seconds := make([]int, goroutines)    // the first that did so again
	parallel.Do(len(h), goroutines, func(k, from, to int) {
		offers[k], seconds[k] = make([]int32, count), len(h)
		for i := from; i < to; i++ {
			if h[i].Op != "offer" || h[i].Outcome == Fail {
				continue
			}
			if offers[k][items[i]] > 0 {
				seconds[k] = i
				break
			}
			offers[k][items[i]] = int32(i) + 1
		}
	})
	first, second := offers[0], slices.Min(seconds)
	for _, part := range offers[1:] {
		for item, offer := range part {
			switch {
			case offer == 0:
			case first[item] == 0:
				first[item] = offer
			default:
				second = min(second, int(offer)-1)
			}
		}
	}
	if second == len(h) {
		return 0, ""
	}
	return second, fmt.Sprintf("the value was offered before, by %v; give every offer its own value",
		h[first[items[second]]-1])
}

// prepareQueue leaves out
//
//   - what failed: it had no effect; and peeks of unknown outcome: they have none;
//   - offers of unknown outcome whose value nobody surely saw. If there is an order in which such an offer took
//     effect, there is the same order without it: a value that nobody sees only keeps others waiting. A removal of
//     unknown outcome that would have taken it goes last.
func prepareQueue(h History, items []int32) []step.Step {
	return prepareQueueBy(parallel.Parts(len(h)), h, items)
}

// prepareQueueBy is prepareQueue by so many goroutines.
func prepareQueueBy(goroutines int, h History, items []int32) []step.Step {
	parts, count := make([]queuePart, goroutines), itemCount(items)
	steps := make([]step.Step, len(h))
	parallel.Do(len(h), goroutines, func(k, from, to int) {
		parts[k] = queuePart{steps[from:from:to], make([]bool, count)}
		for i := from; i < to; i++ {
			parts[k].take(&h[i], i, items[i])
		}
	})
	for _, part := range parts[1:] {
		for item, seen := range part.seen {
			parts[0].seen[item] = parts[0].seen[item] || seen
		}
	}
	parallel.Do(len(h), goroutines, func(k, _, _ int) { parts[k].dropUnseen(parts[0].seen) })
	kept := make([][]step.Step, goroutines)
	for k := range parts {
		kept[k] = parts[k].steps
	}
	return parallel.Joined(steps, kept)
}

// queuePart is a part of a history under preparation.
type queuePart struct {
	steps []step.Step
	seen  []bool // by item: whether somebody surely saw it
}

func (p *queuePart) take(op *Operation, i int, item int32) {
	if op.idle() {
		return
	}
	s := queueStep(op, i, item)
	if s.Kind != step.Offer && !s.Unknown && s.Item != step.NoItem {
		p.seen[s.Item] = true
	}
	p.steps = append(p.steps, s)
}

// dropUnseen drops the offers of unknown outcome of what nobody saw.
func (p *queuePart) dropUnseen(seen []bool) {
	p.steps = slices.DeleteFunc(p.steps, func(s step.Step) bool { return s.Kind == step.Offer && s.Unknown && !seen[s.Item] })
}

func queueStep(op *Operation, i int, item int32) step.Step {
	s := newStep(op, i, step.Remove, item)
	if op.Op == "offer" {
		s.Kind = step.Offer
		return s
	}
	if op.Op == "peek" {
		s.Kind = step.Peek
	}
	s.Null = op.Result.IsNull()
	s.Droppable = s.Kind == step.Peek || s.Empty()
	return s
}

var queueSpec = specOf(persistent.NewQueue(), stepQueue, func(q *persistent.Queue) uint64 { return q.Hash }, (*persistent.Queue).Equal)

func stepQueue(q *persistent.Queue, s *step.Step) (bool, *persistent.Queue) {
	if s.Kind == step.Offer {
		return true, q.Push(s.Item)
	}
	if q.Size == 0 {
		return s.Null || s.Unknown, q
	}
	head, rest := q.Pop()
	matches := head == s.Item || s.Null && s.Unknown
	if matches && s.Kind == step.Remove {
		return true, rest
	}
	return matches || s.Unknown, q
}

// explainQueue sets aside empty results, then peeks, until the rest is legal: the rule is about what it set aside last.
func explainQueue(j *judge, steps []step.Step) step.Finding {
	for _, aside := range []struct {
		property string
		is       func(*step.Step) bool
	}{{"false-empty", (*step.Step).Empty}, {"stale-peek", func(s *step.Step) bool { return s.Kind == step.Peek }}} {
		rest := step.Select(steps, func(s *step.Step) bool { return !aside.is(s) })
		switch j.ask(rest) {
		case porcupine.Ok:
			return step.Finding{Property: aside.property, Steps: j.shrink(steps)}
		case porcupine.Unknown:
			return unexplained(steps)
		}
		steps = rest
	}
	certificate := j.shrink(steps)
	if monitor.PassedOver(certificate) {
		return step.Finding{Property: "lost", Steps: certificate}
	}
	return step.Finding{Property: "order", Steps: certificate}
}

// pendingQueue is a queue's operation before it has returned. A removal takes the value that it will return, or
// nothing.
func pendingQueue(op Operation) (Operation, bool) {
	reads := op.Op == "peek" || op.Op != "offer" && op.Result.IsNull()
	op.Outcome = Unknown
	return op, !reads
}

func forgetQueue(c cut) (forget []bool, doubt string) {
	steps := prepareQueue(c.history, numberItems(c.history, queueItem))
	forget, doubt = monitor.ForgetQueue(steps, len(c.history), c.first)
	for i, op := range c.history {
		forget[i] = forget[i] || op.Op == "peek" && op.Outcome == Unknown
	}
	return forget, doubt
}
