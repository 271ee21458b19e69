package sim

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/zktorture/zktorture/fakezk"
)

// What a workload may ask of the world when it judges.

// Servers is the fake ensemble: the truth about znodes, sessions and watches.
func (w *World) Servers() *fakezk.Ensemble { return w.servers }

// Ops returns all operations in the order of their calls.
func (w *World) Ops() []*Op {
	slices.SortStableFunc(w.ops, func(a, b *Op) int { return cmp.Compare(a.Call, b.Call) })
	return w.ops
}

// Changes returns what was committed, in order.
func (w *World) Changes() []Change { return w.changes }

// Removals are what clients have asked for of their own ephemeral znodes' removal, carried out or not, in order.
func (w *World) Removals() []Removal { return w.removals }

// Attributed tells whether it is known of every change which operation asked for it. Over the wire it may not be: of
// two users who share a *zk.Conn a request is the one's whom the world had woken, if it was one and not both, as after
// a loss of their connection.
func (w *World) Attributed() bool { return !w.nobodys }

// Herds returns the deletions whose event concerned waiting operations.
func (w *World) Herds() []Herd { return w.herd }

// Now returns the stamp of this moment: after everything that has happened.
func (w *World) Now() int64 { return StampOf(w.step + 1) }

// Waiting returns the operations of living processes that have not returned.
func (w *World) Waiting() []*Op {
	var waiting []*Op
	for _, p := range w.procs {
		for _, u := range p.users {
			if !p.crashed && u.op != nil {
				waiting = append(waiting, u.op)
			}
		}
	}
	return waiting
}

// Explain says in a sentence what a waiting operation waits for: its armed watches and whether they can fire.
func (w *World) Explain(op *Op) Sentence {
	text := Say("c%d still waits in %s", op.Client+1, op.Name)
	if StepOf(op.Call) > 0 {
		text = Say("%v (called at step %d)", text, StepOf(op.Call))
	}
	watches := w.armed(op)
	if len(watches) == 0 {
		return Say("%v, and no watch of its session is armed that could wake it", text)
	}
	before := ": "
	for _, watch := range watches {
		text, before = Say("%v%s%v", text, before, watch), "; "
	}
	return text
}

// armed says of each watch of an operation's session on what it is.
func (w *World) armed(op *Op) (out []Sentence) {
	for _, watch := range w.waitOf(op).Watches {
		switch {
		case !watch.Exists:
			out = append(out, Say("it watches %s, which does not exist", Path(watch.Path)))
		case watch.Owner != 0:
			out = append(out, Say("it watches %s, owned by %v", Path(watch.Path), w.Owner(watch.Owner)))
		default:
			out = append(out, Say("it watches %s", Path(watch.Path)))
		}
	}
	return out
}

// Owner describes a session: whose it is, and whether it lives.
func (w *World) Owner(session int64) Sentence {
	text := Say("session %v", SessionID(session))
	if c := slices.IndexFunc(w.procs, func(p *process) bool { return p.has(session) }); c >= 0 {
		text = Say("%v of c%d", text, c+1)
	}
	if step, dead := w.deaths[session]; dead {
		text = Say("%v, which ended at step %d", text, step)
	}
	return text
}

// Struck returns how many faults have struck so far.
func (w *World) Struck() (n int) {
	for _, k := range w.struck {
		n += k
	}
	return n
}

// SessionEnd returns the stamp of a session's end at the servers, and false if it lives.
func (w *World) SessionEnd(session int64) (stamp int64, ended bool) {
	step, ok := w.deaths[session]
	return StampOf(step), ok
}

// IncarnationEnd returns the stamp at which an incarnation of a client crashed, and false if it did not.
func (w *World) IncarnationEnd(client, incarnation int) (stamp int64, ended bool) {
	crashes := w.procs[client].crashes
	if incarnation >= len(crashes) {
		return 0, false
	}
	return StampOf(crashes[incarnation]), true
}

// identities bounds how many identities a user is assumed to have.
const identities = 100

// Identified tells whether a name bears an identity that no other client can have: a session's, or one of
// [fakezk.GUID].
func (w *World) Identified(name string) bool {
	for _, c := range w.changes {
		if c.Op != fakezk.OpCreateSession {
			continue
		}
		hex, decimal := strconv.FormatInt(c.Session, 16), strconv.FormatInt(c.Session, 10)
		if strings.Contains(name, hex) || strings.Contains(name, decimal) {
			return true
		}
	}
	if w.random != nil && slices.ContainsFunc(w.random.given, func(id string) bool { return strings.Contains(name, id) }) {
		return true
	}
	for _, p := range w.procs {
		for life := range p.incarnation + 1 {
			for n := range identities * len(p.users) {
				if strings.Contains(name, fakezk.GUID(GUIDSeed(p.id, life), n/identities, uint64(n%identities)+1)) {
					return true
				}
			}
		}
	}
	return false
}
