package linearizability

import (
	"github.com/zktorture/zktorture/linearizability/internal/step"

	"github.com/zktorture/zktorture/linearizability/operations"
)

// What a release or a downgrade of a read/write lock may be about follows from the order of call alone, as for a
// lock: the last grant of outcome ok, and those of unknown outcome since then. But a downgrade makes a writer a
// reader, and one of unknown outcome perhaps. So what a reader gives back may be what it was granted as a reader, or
// what it was granted as a writer; and which of them it is depends on what took effect before.
//
// Grants, and what may be about them, belong together: they are one item. In nearly every item it is clear what ends
// what, so that the monitor can decide. The others are doubtful. There each release knows all the grants that it may
// be about, and ends the first of them that is held in the right way when it takes effect; so it is for the searches
// to decide.

// grantList is grants in order of call. It only grows at its end, or begins anew, so that steps can share it.
type grantList struct {
	orders []int32
	joined int // the first so many are in one item
}

// rwProcess is what is known of one process on the way through its operations.
type rwProcess struct {
	alone, reads, shared grantList // as in doubt
	merged               int       // how many of alone have been added to shared
	writer, reader       retrying
	// whether its hold as a writer may have become a reader's, by a downgrade of unknown outcome
	blurred bool
	lost    bool // whether it called a writer's release of unknown outcome, and since then nothing was of outcome ok
	either  bool // whether blurred and then lost, or the other way round: then either kind may be the retry
}

// released notes a release, of either kind.
func (w *rwProcess) released(unknown, writer bool) {
	w.blurred, w.lost = w.blurred && unknown, unknown && (w.lost || writer)
	w.either = w.either && unknown || w.blurred
}

// retrying reports whether a release may find its hold over, as one of unknown outcome came before.
type retrying struct{ called, retry bool }

func (r *retrying) granted(unknown bool) {
	*r = retrying{called: true, retry: r.retry && unknown}
}

func (r *retrying) released(unknown bool) { r.retry = r.retry || r.called && unknown }

// rwPairing is the pairing of a read/write lock's operations under way.
type rwPairing struct {
	steps     []step.Step
	doubts    []step.Doubt // by step: what it may be about
	parent    []int32      // by step: another of its item, or itself; see item
	processes map[Value]*rwProcess
}

func prepareRWLock(h History, _ []int32) []step.Step {
	p := &rwPairing{
		steps: make([]step.Step, 0, len(h)), doubts: make([]step.Doubt, 0, len(h)), parent: make([]int32, 0, len(h)),
		processes: make(map[Value]*rwProcess),
	}
	for _, i := range byCall(h) {
		if op := &h[i]; mayGrant(op) || op.Outcome != Fail && !op.kind().Tries &&
			(op.releases() || op.kind().Role == operations.Downgrade) {
			p.take(op, i)
		}
	}
	return dropIdle(p.finish())
}

func (p *rwPairing) take(op *Operation, i int) {
	who, found := p.processes[op.Owner()]
	if !found {
		who = &rwProcess{}
		p.processes[op.Owner()] = who
	}
	at := int32(len(p.steps))
	hold := &step.Holding{Order: at}
	s := newRelease(op, i, step.NoItem, hold)
	p.parent = append(p.parent, at)
	var d step.Doubt
	switch {
	case mayGrant(op):
		s = newGrant(op, i, at, hold)
		who.grant(at, op)
	case op.kind().Role == operations.Downgrade:
		d = step.Doubt{Alone: p.join(at, &who.alone)}
		s.Kind = step.Share
		who.downgrade(at, s.Unknown)
	case op.reads():
		d = step.Doubt{Reads: p.join(at, &who.reads), Shared: p.join(at, &who.shared)}
		hold.Excused = who.reader.retry || who.either
		who.reader.released(s.Unknown)
		who.released(s.Unknown, false)
	default:
		d = step.Doubt{Alone: p.join(at, &who.alone)}
		hold.Excused = who.writer.retry || who.either
		who.writer.released(s.Unknown)
		who.released(s.Unknown, who.writer.called)
	}
	p.steps, p.doubts = append(p.steps, s), append(p.doubts, d)
}

// grant notes a grant. One of outcome ok is what all later releases of its kind are about, if not one of unknown
// outcome after it.
func (w *rwProcess) grant(at int32, op *Operation) {
	unknown := op.Outcome == Unknown
	w.blurred, w.lost, w.either = w.blurred && unknown, w.lost && unknown, w.either && unknown
	switch {
	case op.reads():
		if !unknown {
			w.surelyReads()
		}
		w.reads.orders = append(w.reads.orders, at)
		w.reader.granted(unknown)
		return
	case !unknown:
		w.alone, w.merged = grantList{}, 0
	}
	w.alone.orders = append(w.alone.orders, at)
	w.writer.granted(unknown)
}

// surelyReads forgets what a reader may have held before.
func (w *rwProcess) surelyReads() { w.reads, w.shared, w.merged = grantList{}, grantList{}, 0 }

// downgrade notes a downgrade. One of outcome ok is as a grant to a reader.
func (w *rwProcess) downgrade(at int32, unknown bool) {
	if w.writer.called {
		w.reader.granted(unknown)
		w.blurred, w.either = unknown, unknown && (w.either || w.lost)
	}
	if !unknown {
		w.surelyReads()
		w.lost = false
	}
	w.shared.orders = append(w.shared.orders, w.alone.orders[w.merged:]...)
	w.merged = len(w.alone.orders)
}

// join puts a step and the grants that it may be about into one item, and returns these.
func (p *rwPairing) join(at int32, about *grantList) []int32 {
	for _, g := range about.orders[max(about.joined-1, 0):] {
		p.parent[p.item(g)] = p.item(at)
	}
	about.joined = len(about.orders)
	return about.orders
}

// item returns the step that stands for all of an item.
func (p *rwPairing) item(i int32) int32 {
	for p.parent[i] != i {
		p.parent[i] = p.parent[p.parent[i]]
		i = p.parent[i]
	}
	return i
}

// finish gives the steps their items, and those of doubtful items their doubts.
func (p *rwPairing) finish() []step.Step {
	doubtful := p.doubtful()
	for i := range p.steps {
		s, d := &p.steps[i], &p.doubts[i]
		if s.Kind != step.Grant && len(d.Alone)+len(d.Reads)+len(d.Shared) == 0 {
			s.Kind, s.Droppable = step.Release, true
			continue
		}
		s.Item = p.item(int32(i))
		if doubtful[s.Item].doubtful {
			s.Hold().Doubt = d
		}
	}
	return p.steps
}

// rwItem is what decides whether an item is doubtful.
type rwItem struct {
	grants, shares   int
	shared, released bool // surely
	early            bool // perhaps released before any downgrade
	perhaps          bool // perhaps released
	doubtful         bool
}

// doubtful tells by item whether it is doubtful what ends what, or when. Without a downgrade it is not. With one it
// is not either if there is one grant, then the one downgrade, then releases: a reader's, or a writer's if the
// downgrade is of unknown outcome. Nor is it if a release of unknown outcome is before a downgrade of outcome ok,
// which insists on a hold, and no other release is after it. It is if a release of unknown outcome is no reason for a
// later one to find nothing, as that is of the other kind. Of two releases of outcome ok after a downgrade the first
// ends the hold, whether or not it might have found it over.
func (p *rwPairing) doubtful() []rwItem {
	items := make([]rwItem, len(p.steps))
	for i := range p.steps {
		x := &items[p.item(int32(i))]
		switch s := &p.steps[i]; s.Kind {
		case step.Grant:
			x.grants++
		case step.Release:
			x.doubtful = x.doubtful || x.shared && len(p.doubts[i].Alone) > 0
			x.doubtful = x.doubtful || x.shares > 0 && (x.released || x.early) && !s.Unknown
			x.doubtful = x.doubtful || x.shares > 0 && x.perhaps && s.Insists()
			x.released, x.early, x.perhaps = x.released || !s.Unknown, x.early || x.shares == 0, x.perhaps || s.Unknown
		case step.Share:
			x.shares++
			x.shared = x.shared || !s.Unknown
			x.doubtful = x.doubtful || x.released || x.early && s.Unknown
		}
		x.doubtful = x.doubtful || x.shares > 0 && x.shares+x.grants > 2
	}
	return items
}
