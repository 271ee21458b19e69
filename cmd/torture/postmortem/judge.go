package postmortem

import (
	"cmp"
	"container/heap"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// lock is a place that somebody has said is one, and who holds it now.
type lock struct {
	path      string
	first     *znode // whose owner holds it, as the log says
	since     moment // from when on
	overtaken []*znode
	held      []*hold // what clients say, of sessions that are alive
	disputes  []*dispute
	found     []violation
	more      int  // found besides
	seen      bool // a znode of it is in the log
}

// violation is what the log and clients cannot both be right about, or what nobody should have done.
type violation struct {
	zxid int64
	text string
}

// foundMax is how many violations of a lock are told one by one.
const foundMax = 100

// party is a holder: a client that says so, or who has or had the first znode.
type party struct {
	session int64
	hold    *hold
	znode   *znode
}

func (p party) String() string {
	if p.hold != nil {
		return fmt.Sprintf("session %#x, which says (line %d) that it held it %s", uint64(p.session), p.hold.line, p.hold.said)
	}
	return fmt.Sprintf("session %#x, whose znode %s, made at zxid %v, was the first", uint64(p.session), path.Base(p.znode.path), p.znode.made)
}

// dispute is the time in which two sessions held the same lock, and both were alive.
type dispute struct {
	a, b party
	from moment
	open bool
}

// judge compares what clients say that they held with what a log says.
type judge struct {
	locks    map[string]*lock
	patterns []string         // of path.Match: further places that are locks
	guarded  map[string]*lock // by what only the holder may change
	claims                    // what clients say, as far as it is yet to come
	ends     endings          // of holds that have begun
	of       map[int64]*life  // by the sessions that clients name
	now      moment           // of the last transaction

	named, zombies, strangers int
	stranger, zombie          *hold // the first
}

// newJudge judges the locks of patterns, and those that clients and guards will name.
func newJudge(patterns []string) *judge {
	j := &judge{locks: map[string]*lock{}, patterns: patterns, guarded: map[string]*lock{}, of: map[int64]*life{}}
	for _, pattern := range patterns {
		if !strings.ContainsAny(pattern, `*?[\`) {
			j.lock(pattern)
		}
	}
	return j
}

// lock is the lock at a place that somebody has said is one.
func (j *judge) lock(place string) *lock {
	place = path.Clean(place)
	if j.locks[place] == nil {
		j.locks[place] = &lock{path: place}
	}
	return j.locks[place]
}

// notes say what was not judged, and why.
func (j *judge) notes() (notes []string) {
	add := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	if len(j.locks) == 0 {
		add("unknown: nothing was judged: name locks by --lock or --guards, or give a file of what clients held")
	}
	if h := j.stranger; h != nil {
		add("unknown: %d holds are of sessions that the log does not have, such as %#x (line %d): is it the log of that time?",
			j.strangers, uint64(h.session), h.line)
	}
	if h := j.zombie; h != nil {
		add("%d holds lasted longer than their sessions, such as that of %#x (line %d): those clients had not been told. "+
			"They accuse nobody; guard what matters by fencing", j.zombies, uint64(h.session), h.line)
	}
	if j.short > 0 {
		add("%d holds are too short to be compared: clocks may differ by twice as much", j.short)
	}
	if j.early > 0 {
		add("%d holds ended before the beginning of the log, and were not judged", j.early)
	}
	if len(j.holds) > 0 {
		add("%d holds begin after the end of the log, and were not judged", len(j.holds))
	}
	if j.named > 0 && j.compared() == 0 {
		add("unknown: none of the holds that clients name was compared")
	}
	unseen := slices.DeleteFunc(slices.Sorted(maps.Keys(j.locks)), func(place string) bool { return j.locks[place].seen })
	if n := len(unseen); n > 0 && n == len(j.locks) && j.compared() == 0 {
		add("unknown: nothing was judged: no ephemeral znode of %s is in the log; is it the path of a lock?", unseen[0])
	} else if n > 0 {
		add("%d locks have no ephemeral znode in the log, such as %s", n, unseen[0])
	}
	return notes
}

// life is what a log says of a session that a client names.
type life struct {
	seen, ended bool
	held        []*hold
}

// lockAt is the lock at a place; nil if nobody has said that it is one.
func (j *judge) lockAt(place string) *lock {
	if l := j.locks[place]; l != nil {
		return l
	}
	for _, pattern := range j.patterns {
		if ok, _ := path.Match(pattern, place); ok {
			return j.lock(place)
		}
	}
	return nil
}

// opened and ended say what became of a session. The holds of one that has ended are none any more, whatever its client
// says: it can change nothing.
func (j *judge) opened(session int64) {
	if of := j.of[session]; of != nil {
		of.seen = true
	}
}

func (j *judge) ended(session int64) {
	of := j.of[session]
	if of == nil {
		return
	}
	of.seen, of.ended = true, true
	for _, h := range of.held {
		h.lock.held = slices.DeleteFunc(h.lock.held, func(o *hold) bool { return o == h })
		j.look(h.lock)
	}
}

// before has holds begin and end that do so before a transaction. What ends at its instant ends before it, and what
// begins at its instant begins after it.
func (j *judge) before(t transaction) {
	for until := j.instant(t); ; {
		switch {
		case len(j.ends) > 0 && j.ends[0].end <= until && (len(j.holds) == 0 || j.ends[0].end <= j.holds[0].begin):
			j.give(heap.Pop(&j.ends).(*hold))
		case len(j.holds) > 0 && j.holds[0].begin < until:
			h := j.holds[0]
			j.holds = j.holds[1:]
			heap.Push(&j.ends, h)
			j.take(h)
		default:
			return
		}
	}
}

// take begins a hold.
func (j *judge) take(h *hold) {
	switch of := j.of[h.session]; {
	case of.ended: // its client says so in vain
	case !of.seen:
		if j.strangers++; j.stranger == nil {
			j.stranger = h
		}
	default:
		of.held = append(of.held, h)
		h.lock.held = append(h.lock.held, h)
		j.look(h.lock)
	}
}

// give ends a hold.
func (j *judge) give(h *hold) {
	of := j.of[h.session]
	if of.ended && of.seen {
		if j.zombies++; j.zombie == nil {
			j.zombie = h
		}
	}
	is := func(o *hold) bool { return o == h }
	of.held = slices.DeleteFunc(of.held, is)
	h.lock.held = slices.DeleteFunc(h.lock.held, is)
	j.look(h.lock)
}

// changed says that znodes of a lock have come or gone, and which is the first now; nil if none. The one that was it
// before, and still is there, is overtaken.
func (j *judge) changed(l *lock, first *znode) {
	l.seen = true
	if was := l.first; first != was {
		if was != nil && !was.gone {
			l.overtaken = append(l.overtaken, was)
		}
		l.first, l.since = first, j.now
	}
	l.overtaken = slices.DeleteFunc(l.overtaken, func(o *znode) bool { return o == first || o.gone })
	j.look(l)
}

// look finds who disputes a lock now, and tells disputes that are over.
func (j *judge) look(l *lock) {
	for _, d := range l.disputes {
		d.open = false
	}
	for i, h := range l.held {
		for _, other := range l.held[:i] {
			if !h.Shared || !other.Shared {
				j.disputed(l, party{session: other.session, hold: other}, party{session: h.session, hold: h})
			}
		}
		if l.first != nil && !h.Shared && !slices.ContainsFunc(l.held, func(o *hold) bool { return o.session == l.first.session }) {
			j.disputed(l, party{session: h.session, hold: h}, party{session: l.first.session, znode: l.first})
		}
	}
	for _, z := range l.overtaken {
		j.disputed(l, party{session: z.session, znode: z}, party{session: l.first.session, znode: l.first})
	}
	l.disputes = slices.DeleteFunc(l.disputes, func(d *dispute) bool {
		if !d.open {
			j.tell(l, d, "to "+j.now.String())
		}
		return !d.open
	})
}

// disputed says that two parties hold a lock now.
func (j *judge) disputed(l *lock, a, b party) {
	if a.session == b.session {
		return
	}
	for _, d := range l.disputes {
		if d.a.session == a.session && d.b.session == b.session {
			d.open = true
			return
		}
	}
	l.disputes = append(l.disputes, &dispute{a: a, b: b, from: j.now, open: true})
}

func (j *judge) tell(l *lock, d *dispute, to string) {
	l.add(d.from.zxid, "two holders: %s was held by two sessions that were alive, from zxid %v %s:\n  %v\n  %v", l.path, d.from, to, d.a, d.b)
}

// written says that a session, 0 for the servers, has changed what only the holder of a lock may change. The lock's own
// znodes are everybody's. Who gives it back may write in that same transaction.
func (j *judge) written(l *lock, name string, session int64) {
	if l.first == nil || l.first.session == session || session == 0 || l.since.zxid == j.now.zxid || name == l.path || strings.HasPrefix(name, l.path+"/") {
		return
	}
	l.add(j.now.zxid, "changed by another: session %#x changed %s at zxid %v, which %s guards; it was held from zxid %v on by\n  %v",
		uint64(session), name, j.now, l.path, l.since, party{session: l.first.session, znode: l.first})
}

func (l *lock) add(zxid int64, format string, args ...any) {
	if len(l.found) == foundMax {
		l.more++
		return
	}
	l.found = append(l.found, violation{zxid, fmt.Sprintf(format, args...)})
}

// wrong takes back what was found at a lock by its first znode: one had been there that nobody knew of.
func (l *lock) wrong() { l.found, l.more, l.disputes = nil, 0, nil }

// finish ends the log, and returns what was found in its order, and how much more.
func (j *judge) finish() (all []violation, more int) {
	for _, l := range j.locks {
		for _, d := range l.disputes {
			j.tell(l, d, "to the end of the log")
		}
		all, more = append(all, l.found...), more+l.more
	}
	slices.SortFunc(all, func(a, b violation) int {
		return cmp.Or(cmp.Compare(uint64(a.zxid), uint64(b.zxid)), cmp.Compare(a.text, b.text))
	})
	return all, more
}
