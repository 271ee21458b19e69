package world

import (
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/wire"
	"github.com/zktorture/zktorture/internal/digest"
)

// keeping is what an exhaustive search keeps of a world that the world itself forgets: what each process was told, and
// what the judges will see, in its order. With the rest of the world it is all that the future depends on, see
// [World.stateHash].
// A recipe's goroutines, and their variables, are functions of what they were told and when: nothing else reaches them.
type keeping struct {
	delivered [ClientsMax]deliveries
	history   []Moment         // calls, returns, changes, ends of sessions and processes, since they were taken
	asked     atomic.Uint64    // a hash of who has asked whether it still has what it got, since the history was taken
	outside   digest.Sum       // what is done outside; no judge knows when
	names     map[int64]int64  // of operations, by number: equal wherever the same user has begun as many
	begun     map[[2]int]int64 // operations, by client and user
	settled   int              // moments since time was last on the grid
	slept     int64            // how often it was put there: its order with the timers that are set between is what matters
	deaf      int              // the step in which a process last did not hear
	dials     int              // the client that dials, or was the last to do so
	acted     uint64           // clients, as bits, that have done something or were struck since the episode began
	alone     uint64           // clients, as bits, that have begun without a connection
}

// deliveries are what one process has been told so far.
type deliveries struct {
	w      *World
	client int
	sum    digest.Sum
}

// What a process is told. That a request has arrived is nothing that it is told: the reply is.
const (
	deliveredMessage = iota + 1
	deliveredDial
	deliveredBreak
	deliveredUnsent
	deliveredEvent
	deliveredOutside
	deliveredContext
	deliveredDeath
	deliveredLate
)

func (t *deliveries) add(what int64, content ...int64) {
	if t == nil {
		return
	}
	t.sum.Ints(what, t.w.elapsed)
	t.sum.Ints(content...)
}

// Moment is a hash of what judges see of one moment of the history, what that is, and whose.
type Moment struct {
	What, Hash uint64
	Client     int // of calls, returns and [KeptOwn]
}

// What a moment is. Any other is one of a change, of the end of a session or process, or of time that passes.
const (
	KeptCall = iota + 1
	KeptReturn
	KeptGiving    // the call of an operation that gives something back, see [Terms] …
	KeptGivenBack // … and its return
	KeptOwn       // an operation of such a kind makes an ephemeral znode of its own session, or removes one
	keptChange
	keptDeath
	keptUnreachable
	keptTold
	keptTick
)

// ownClients are the first ones, of which [KeptOwn] is known; what others do is a change.
const ownClients = 8

func (m *keeping) add(what, hash uint64, client int) {
	if m != nil {
		m.history = append(m.history, Moment{what, hash, client})
	}
}

// History is what has happened since it was asked for last, in memory that is used again.
func (w *View) History() []Moment {
	defer func() { w.kept.history = w.kept.history[:0] }()
	if asked := w.kept.asked.Swap(0); asked != 0 { // as judges have it, before all that returned in that step
		w.kept.history = slices.Insert(w.kept.history, 0, Moment{What: KeptReturn, Hash: asked})
	}
	return w.kept.history
}

// keep lets a world keep what a search needs.
func keep(w *World) {
	m := &keeping{names: map[int64]int64{}, begun: map[[2]int]int64{}}
	for i := range m.delivered {
		m.delivered[i].w, m.delivered[i].client = w, i
	}
	w.kept = m
}

// End is what judges see of an episode from where its faults are healed: its history, and a hash of all else.
type End struct {
	History []Moment
	Rest    uint64
}

// end is nil if nothing is kept, and if a judge may see more.
func (m *keeping) end(w *View) *End {
	if m == nil || !w.terms.Noted {
		return nil
	}
	v := w.ServersMatter(false)
	d := w.hash(v, v.RemainsHash(w.servers), w.herdHash(2, ^uint64(0))) // of a deletion that wakes one nobody is accused
	var notes uint64
	for _, op := range w.ops {
		if op.Data == nil {
			continue
		}
		noted, is := op.Data.(interface{ Hash() uint64 })
		if !is {
			return nil
		}
		notes += digest.Mix(noted.Hash() ^ digest.Mix(uint64(m.name(op.Number))))
	}
	d.Int(int64(notes))
	return &End{slices.Clone(w.History()), uint64(d)}
}

// deliveredTo is where to note what a process is told; nil if nothing is kept.
func (m *keeping) deliveredTo(client int) *deliveries {
	if m == nil {
		return nil
	}
	return &m.delivered[client]
}

// name is the same for what is the same operation, wherever its steps were; 0 if nothing is kept.
func (m *keeping) name(number int64) int64 {
	if m == nil {
		return 0
	}
	return m.names[number]
}

// note keeps the begin or the end of an operation.
func (m *keeping) note(w *World, n note) {
	if m == nil {
		return
	}
	user := [2]int{n.op.Client, n.op.User}
	if !n.end {
		m.begun[user]++
		m.names[n.op.Number] = int64(n.op.Client)<<40 | int64(n.op.User)<<32 | m.begun[user]
	}
	h, what := digest.Sum(0), uint64(KeptCall)
	h.Bool(StepOf(n.stamp) == m.deaf) // see CutOff, which includes both ends
	if h.Int(m.name(n.op.Number)); n.end {
		what = KeptReturn
		h.Ints(int64(n.op.Outcome), n.op.SessionAt, int64(n.op.ExpiriesSeen), int64(n.op.Incarnation))
		h.Text(n.op.Result)
		h.Bool(n.op.Cancelled)
	}
	h.Text(n.op.Name)
	h.Text(n.op.Arg)
	if n.op.Err != nil {
		h.Text(n.op.Err.Error())
	}
	if w.terms.GivesBack != nil && w.terms.GivesBack(n.op.Name) {
		what += KeptGiving - KeptCall
	}
	m.add(what, uint64(h), n.op.Client)
}

// change keeps a change of the tree or of the sessions.
func (m *keeping) change(w *World, c fakezk.Change, actor int64) {
	if m == nil {
		return
	}
	var h digest.Sum
	h.Ints(c.Zxid, c.Time, int64(c.Op), c.Session, c.Owner, m.name(actor))
	h.Text(c.Path)
	h.Bytes(c.Data)
	h.Bool(c.Sequential)
	what, client := uint64(keptChange), int(m.name(actor)>>40)
	if own := c.Owner != 0 && c.Owner == c.Session && (c.Op == wire.OpCreate || c.Op == wire.OpDelete); own && actor != 0 &&
		client < ownClients && w.terms.GivesBack != nil {
		what = KeptOwn
	}
	m.add(what, uint64(h), client)
}

// over keeps what is known of what an operation got.
func (m *keeping) over(op *Op) {
	if m != nil {
		var h digest.Sum
		h.Int(m.name(op.Number))
		h.Bool(op.Told != 0)
		h.Bool(op.SelfEnded)
		m.add(keptTold, uint64(h), op.Client)
	}
}

// outsideOf keeps what a user has done outside of ZooKeeper.
func (m *keeping) outsideOf(call *outsideCall, result string) {
	if m != nil {
		m.outside.Ints(int64(call.user.Client), int64(call.user.Index))
		m.outside.Text(call.what)
		m.outside.Text(result)
		m.deliveredTo(call.user.Client).add(deliveredOutside, int64(call.user.Index), int64(HashString(result)))
	}
}

// death keeps that a process has died.
func (m *keeping) death(p *process) {
	m.add(keptDeath, uint64(p.id), p.id)
	m.deliveredTo(p.id).add(deliveredDeath)
}

// unreachable keeps that a process has not heard for so many milliseconds.
func (m *keeping) unreachable(p *process, ms int64) {
	if m != nil {
		m.add(keptUnreachable, uint64(p.id)<<32|uint64(ms), p.id)
		m.deaf = p.world.step
	}
}

// beginsAlone keeps that a process begins without a connection.
func (m *keeping) beginsAlone(p *process) {
	if m != nil {
		m.alone, m.acted = m.alone|1<<p.id, m.acted|1<<p.id
	}
}

// event keeps who does something, or is struck.
func (m *keeping) event(w *World, e Event) {
	switch {
	case m == nil:
	case e.Fault > 0:
		if victim := w.view().Victim(1<<(e.Fault-1), Target{client: e.Client}); victim >= 0 {
			m.acted |= 1 << victim
		}
	case !e.OfServer():
		m.acted |= 1 << e.Client
	}
}

// StateHash hashes all on which depend, with the history, what can happen from here on, and what the judges will say of
// it. It is taken where a choice is due and every goroutine waits, so that nothing is on its way from the recipe to the
// world. That of a client changes only by what it does or suffers, or with time. What the servers have for it alone is
// its line, which changes also where others change the servers: by what these were and are, and the line.
// Which field of what is in it, and why others need not be, is in TestFieldsAreClassed.
func (w *View) StateHash(v fakezk.View, lines, clients []uint64) (servers uint64, _, _ []uint64) {
	var apart []fakezk.ConnID
	var places uint64 // where clients are, if servers may lag: one without clients is unseen
	for _, p := range w.procs {
		own, line := w.processHash(p, v)
		lines, clients = append(lines, line), append(clients, own)
		if at, connected := p.inProcess.Connected(); connected && !p.crashed {
			apart = append(apart, p.inProcess.Connection())
			places += digest.Mix(uint64(at)) * uint64(w.faults&Lag)
		}
	}
	return uint64(w.hash(v, v.StateHash(w.servers, apart...)+places, w.herdHash(0, 0))), lines, clients
}

// hash hashes the world, but for its processes, and with these hashes of its servers and herds.
func (w *View) hash(v fakezk.View, servers, herds uint64) (d digest.Sum) {
	d.Ints(int64(servers), int64(w.kept.outside), w.elapsed, w.offset, w.outage.until)
	d.Ints(int64(w.faults), int64(w.faultsDue), int64(w.firstNumber), int64(w.versions), int64(w.replicas), int64(len(w.panicked)), int64(len(w.ends)))
	for _, b := range [...]bool{w.outage.now, w.brief, w.nobodys, w.liveness} {
		d.Bool(b)
	}
	if w.random != nil {
		d.Ints(int64(w.random.State))
	}
	for r, l := range w.lag {
		if l == unseen && v.Forgotten != nil {
			l = upToDate
		}
		d.Ints(int64(r), int64(l))
	}
	struck := w.struck
	for _, p := range w.procs {
		if p.held && p.heldEvent { // it struck when another let that event happen
			struck[Watch.Index()]--
		}
	}
	for _, n := range struck {
		d.Int(int64(n))
	}
	d.Int(int64(herds))
	return d
}

func (w *View) processHash(p *process, v fakezk.View) (own, line uint64) {
	var d, o digest.Sum
	d.Ints(int64(w.kept.delivered[p.id].sum), int64(p.incarnation), int64(len(p.expiriesSeen)), int64(len(p.crashes)))
	o.Ints(int64(p.id), int64(w.herdHash(0, 1<<p.id)))
	for _, b := range [...]bool{p.held, p.heldEvent, p.paused, p.active()} {
		o.Bool(b)
	}
	if d.Bool(p.crashed); p.crashed {
		d.Int(p.session()) // by which it is named; nothing else of it matters any more
	} else {
		mine, servers := p.inProcess.StateHash(v, w.servers, w.kept.name)
		d.Int(int64(mine))
		o.Int(int64(servers))
	}
	for _, u := range p.users {
		d.Bool(u.done)
		d.Bool(u.resting)
		d.Bool(u.stalledLong)
		if d.Bool(u.op != nil); u.op != nil {
			d.Int(w.kept.name(u.op.Number))
			d.Bool(u.op.Cancelled)
			d.Bool(u.op.ctx.IsLate())
			o.Int(w.kept.name(u.op.Number))
			o.Bool(queued((*World)(w), u.op))
		}
	}
	for _, call := range w.outside {
		if call.user.process == p {
			d.Int(int64(call.user.Index))
			d.Text(call.what)
		}
	}
	return uint64(d), uint64(o)
}

// herdHash hashes the deletions that have woken so many operations or more, and of these those of some clients, as bits.
func (w *View) herdHash(least int, of uint64) (sum uint64) {
	for _, h := range w.herd {
		if len(h.Ops) < least {
			continue
		}
		var d digest.Sum
		d.Int(h.Zxid)
		d.Text(h.Path)
		for _, op := range h.Ops {
			if of>>op.Client&1 != 0 {
				d.Int(w.kept.name(op.Number))
			}
		}
		sum += uint64(d)
	}
	return sum
}

// Time in an exhaustive search is on a grid. In other runs each step takes a microsecond, so that timers of equal
// lengths run out in the order in which they were set; then no two orders of the same steps would lead to one state. In
// a search a step takes a nanosecond, and whenever the world has slept it goes on, past the timers due in the same
// millisecond, at the next full one and as many microseconds as it has slept times. A timer of whole milliseconds thus
// runs out in the millisecond to which the search has come by its number of steps in between, whatever their order; and
// of several in one process that are due together the one that was set first does.
const (
	gridMoment  = time.Nanosecond
	gridMoments = 1000 // as many fit between two microseconds, and as many microseconds between two milliseconds
)

// ErrOffGrid is why a run is given up whose time is not on the grid any more.
var ErrOffGrid = errors.New("too many steps passed without time")

// moment is how long a step takes.
func (w *World) moment() time.Duration {
	if w.kept == nil {
		return time.Microsecond
	}
	w.kept.settled++
	return gridMoment
}

// rest is how long the world sleeps on after something has stirred.
func (w *World) rest() time.Duration {
	m := w.kept
	if m == nil {
		return 100 * time.Microsecond
	}
	if m.settled >= gridMoments || m.slept >= gridMoments {
		GiveUp(ErrOffGrid)
	}
	m.settled = 0
	m.slept++
	now := time.Since(w.start)
	return now.Truncate(time.Millisecond) + time.Millisecond + time.Duration(m.slept)*time.Microsecond - now
}

// EqualServers reports whether nothing that can happen from now on tells two servers apart but their names. Up-to-date
// ones are equal, unless one of them may be struck by itself: the leader by being deposed, a follower with clients by
// falling behind. Of those without clients, where that can be, it matters how far they have come.
func (w *View) EqualServers(a, b int, faultsLeft bool) bool {
	switch {
	case !w.current(a) || !w.current(b):
		return false
	case !faultsLeft:
		return true
	case w.faults.Has(Lag):
		return w.lag[a] == unseen && w.lag[b] == unseen && w.servers.ZxidOf(a) == w.servers.ZxidOf(b)
	case w.faults.Has(Deposed):
		return (*World)(w).follows(a) && (*World)(w).follows(b)
	}
	return true
}

// current reports whether a server has all that is committed, or will have before it serves anybody, unless it is struck.
func (w *View) current(r int) bool {
	return r != w.servers.Deposed() && (w.lag[r] == upToDate || w.lag[r] == unseen)
}

// ServersMatter says what of the servers cannot matter any more. If no fault is left, those without clients will be up to
// date for the next.
func (w *View) ServersMatter(faultsLeft bool) fakezk.View {
	v := fakezk.View{Alike: !faultsLeft || w.faults&(Lag|Deposed) == 0}
	if !faultsLeft {
		v.Forgotten = w.UnseenServer
	}
	for r := range w.replicas {
		v.Alike = v.Alike && w.current(r)
	}
	return v
}

// AllAtDeposed are the clients, as bits, that are connected to a deposed leader.
func (w *View) AllAtDeposed() (all uint64) {
	for _, p := range w.procs {
		for _, c := range p.clients {
			if (*World)(w).atDeposed(c) {
				all |= 1 << p.id
			}
		}
	}
	return all
}

// Dialler is the client that dials, or was the last to do so; only if that is kept.
func (w *View) Dialler() int { return w.kept.dials }

// Begun are the clients, as bits, that have acted or were struck, and those that have begun without a connection.
func (w *View) Begun() (acted, alone uint64) { return w.kept.acted, w.kept.alone }

// Standing says whether a client has not finished, and at which server it is, -1 for none.
func (w *View) Standing(client int) (unfinished bool, server int) {
	at, connected := w.procs[client].inProcess.Connected()
	if !connected {
		at = -1
	}
	return w.procs[client].unfinished(), at
}
