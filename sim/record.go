package sim

import (
	"slices"

	"github.com/zktorture/zktorture/fakezk"
)

// Record is what a run with a trace leaves besides it, for telling its story.
type Record struct {
	Ops          []*Op // by call
	Changes      []Change
	Sessions     []SessionOf // in the order in which clients got them
	ExpiriesSeen [][]int     // for each client: the steps at which it learned that a session was gone
	Users        []int       // for each client: how many share its session
	Servers      int
	Waits        []Wait // of those that wait for ever; empty if everybody finished
	Tortured     int    // steps of the torture phase
	Marks        []int  // how many choices had been made after each step of the torture phase, from step 0
	Choices      Choices
	Struck       Faults // that struck at least once
}

// SessionOf tells which client got a session.
type SessionOf struct {
	ID     int64
	Client int
}

// Wait is an operation that has not returned although all faults were healed, with what it waits for.
type Wait struct {
	Op      *Op
	Session int64       // that its client believes to have
	Watches []WaitWatch // armed for that session
}

// WaitWatch is an armed watch and the znode on which it is.
type WaitWatch struct {
	Path   string
	Kind   fakezk.WatchKind
	Exists bool
	Owner  int64 // the session that the znode belongs to, 0 if it is not ephemeral or not there
}

// record is what a world with a trace keeps on its way.
type record struct {
	sent   map[*fakezk.Call]int
	owners []SessionOf
	marks  []int
}

func newRecord() *record { return &record{sent: map[*fakezk.Call]int{}} }

// noteSent notes the step in which a request was sent.
func (w *World) noteSent(call *fakezk.Call) {
	if w.record != nil {
		w.sent[call] = w.step
	}
}

func (w *World) sentAt(call *fakezk.Call) int {
	if step, known := w.sent[call]; known {
		return step
	}
	return -1 // sent by the client library itself when it connected
}

// noteOwner notes whose a session is.
func (w *World) noteOwner(p *process, c client) {
	s := SessionOf{c.Session(), p.id}
	if w.record != nil && s.ID != 0 && !slices.Contains(w.owners, s) {
		w.owners = append(w.owners, s)
	}
}

// mark notes how many choices have been made before the next step.
//
// Invariant: marks[k] is the number of choices after which step k is over; each turn of the loop takes one step, or
// none if it is the last.
func (w *World) mark() {
	if w.record == nil {
		return
	}
	for len(w.marks) <= w.step {
		w.marks = append(w.marks, len(w.source.made))
	}
	w.marks[w.step] = len(w.source.made)
}

// complete is called when every script has ended, or waits for ever.
func (w *World) complete() *Record {
	if w.record == nil {
		return nil
	}
	r := &Record{
		Ops: slices.Clone(w.Ops()), Changes: slices.Clone(w.changes), Sessions: w.owners, Servers: w.replicas,
		Tortured: w.tortured, Marks: w.marks,
	}
	for _, p := range w.procs {
		r.ExpiriesSeen, r.Users = append(r.ExpiriesSeen, slices.Clone(p.expiriesSeen)), append(r.Users, len(p.users))
	}
	for _, op := range w.Waiting() {
		r.Waits = append(r.Waits, w.waitOf(op))
	}
	for i, n := range w.struck {
		if n > 0 {
			r.Struck |= 1 << i
		}
	}
	for _, m := range w.source.made {
		r.Choices = append(r.Choices, m.value)
	}
	return r
}

func (w *World) waitOf(op *Op) Wait {
	wait := Wait{Op: op, Session: op.Session()}
	for _, watch := range w.servers.Watches() {
		if watch.Session == wait.Session {
			n, exists := w.servers.Node(watch.Path)
			wait.Watches = append(wait.Watches, WaitWatch{watch.Path, watch.Kind, exists, n.Stat.EphemeralOwner})
		}
	}
	return wait
}
