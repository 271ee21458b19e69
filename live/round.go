package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/workload"
)

// liveRound is one round under way.
type liveRound struct {
	run           *liveRun
	ctx           context.Context
	sessions      []*Session
	episode       workload.Episode
	log           *workload.RequestLog // of its users' requests; nil if there is no use for it
	began         time.Time
	tenure        int64      // of the root: see [ownRoot.hold]
	slow          bool       // nobody can tell whether those who wait do so for ever
	seen          int        // events, when somebody looked last
	frozen        []*sim.Op  // as they were when somebody waited in vain; nil if nobody did
	object        string     // the round's own znode
	path          string     // what the recipes are given, below it
	faults        []Fault    // that are to strike its clients
	remains       []liveNode // what was there when somebody waited in vain
	broken        int
	expiriesSeen  int
	lasting       sync.WaitGroup // what faults do meanwhile
	healed        chan struct{}  // closed when all faults have ended
	health        sync.Once
	truce         sync.Once // no server is hurt until the round is over
	serverStrikes int       // that had struck servers before
	replayer      *replayer // nil if everybody goes on as they like

	mu         sync.Mutex
	ops        []*sim.Op
	cancels    map[*sim.Op]context.CancelFunc
	cancelable map[*sim.Op]bool
	strikes    []*Strike
	asleep     map[int]chan struct{} // by client that is paused: closed when it goes on
	active     int                   // users that have not finished …
	lonely     bool                  // … one of whom waits for the others
	alone      chan struct{}         // closed when only the one who waits for it is left
	idle       chan struct{}         // closed when nobody is left
}

func (l *liveRound) prepare() error {
	if err := l.make(); err != nil {
		return fmt.Errorf("live: %s cannot be made: %w", l.object, err)
	}
	l.cancels, l.cancelable = map[*sim.Op]context.CancelFunc{}, map[*sim.Op]bool{}
	l.alone, l.idle, l.healed = make(chan struct{}), make(chan struct{}), make(chan struct{})
	l.asleep, l.serverStrikes = map[int]chan struct{}{}, l.run.nemesis.count()
	l.broken, l.expiriesSeen = lostBy(l.sessions), l.expiriesNow()
	l.began = time.Now()
	return nil
}

// make makes the round's znodes, in the run's root.
func (l *liveRound) make() (err error) {
	if l.tenure, err = l.run.claim.hold(l.run.admin.Conn); err != nil {
		return err
	}
	if err = l.run.claim.make(l.run.admin.Conn, l.episode.Parents()); err != nil {
		return err
	}
	return l.run.workload.SetUp(l.run.admin.Conn, l.path)
}

// undisturbed returns an error if the root was lost during the round, or not in use for a while, so that somebody may have
// removed something.
func (l *liveRound) undisturbed() error {
	tenure, err := l.run.claim.hold(l.run.admin.Conn)
	if err == nil && tenure != l.tenure {
		err = errDisturbed
	}
	return err
}

// errDisturbed is why a round is not judged during which the root was not in use.
var errDisturbed = errors.New("the session of the run's own had ended meanwhile, so that somebody may have removed what was there")

// play starts all users and waits until they have finished, or until only such are left as wait.
func (l *liveRound) play() {
	l.start()
	l.finish()
}

// start starts all users.
func (l *liveRound) start() {
	layout := l.episode.Users()
	l.active = workload.Slot(layout, len(layout), 0) // before the first can have finished
	for client, users := range layout {
		for index := range users {
			u := &liveUser{round: l, session: l.sessions[client], clientN: client, indexN: index, slot: workload.Slot(layout, client, index)}
			go func() {
				defer l.left()
				l.episode.Run(u)
			}()
		}
	}
}

// finish waits until all users have finished, or until only such are left as wait for ever.
func (l *liveRound) finish() {
	for waiting := true; waiting; {
		switch l.patience() {
		case finished:
			waiting = false
		case tooSlow:
			l.slow, waiting = true, false
		case forever:
			if l.lasts() {
				l.heal() // liveness is judged without faults
			} else {
				waiting = !l.stuck()
			}
		}
	}
	if len(l.frozen) > 0 {
		l.awaitHealthy()
		l.remains = l.tree(l.path) // before anybody tidies up
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, cancel := range l.cancels {
		cancel()
	}
}

// lasts tells whether the round's faults have not ended yet.
func (l *liveRound) lasts() bool {
	select {
	case <-l.healed:
		return false
	default:
		return len(l.strikes) > 0
	}
}

// stuck tells whether somebody waits who should not, and keeps how everything is then; what comes after that has come of
// ending it. It ends the waits that are in order, if there are any. Nothing must have happened since patience has ended.
func (l *liveRound) stuck() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.events() != l.seen || l.endOrderly() {
		return false
	}
	l.frozen = snapshots(l.ops)
	return true
}

func snapshots(ops []*sim.Op) (all []*sim.Op) {
	for _, op := range ops {
		snapshot := *op
		all = append(all, &snapshot)
	}
	return all
}

// patience waits for the end of all users, or until there is no use in waiting.
func (l *liveRound) patience() outlook {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	w := l.newWait()
	for {
		select {
		case <-l.idle:
			return finished
		case <-l.ctx.Done():
			return finished
		case <-look.C:
		}
		if l.onlyWaitInOrder() {
			return forever
		}
		if l.stirred() {
			w = l.newWait()
		} else if seen := w.look(); seen != unsettled {
			return seen
		}
	}
}

func (l *liveRound) newWait() *wait { return l.run.newWait(l.waiters(), l.run.cfg.Patience) }

// stirred tells whether something has happened since somebody looked.
func (l *liveRound) stirred() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	was := l.seen
	l.seen = l.events()
	return l.seen != was
}

// lookEvery is how often a round looks whether somebody has done something.
const lookEvery = 50 * time.Millisecond

// waiters are the sessions of those who wait. A replayed round knows better itself who is connected, and who has died.
func (l *liveRound) waiters() (of []*Session) {
	if l.replayer != nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, op := range l.waiting() {
		if s := l.sessions[op.Client]; !slices.Contains(of, s) {
			of = append(of, s)
		}
	}
	return of
}

// events counts the operations that have begun, and those that have ended.
func (l *liveRound) events() (n int) {
	for _, op := range l.ops {
		if n++; op.Return != 0 {
			n++
		}
	}
	return n
}

func (l *liveRound) waiting() []*sim.Op {
	var ops []*sim.Op
	for _, op := range l.ops {
		if op.Return == 0 && op.Outcome == sim.Running {
			ops = append(ops, op)
		}
	}
	return ops
}

// onlyWaitInOrder tells whether everybody who has not finished waits, and may.
func (l *liveRound) onlyWaitInOrder() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	waiting := l.waiting()
	left := l.active
	if l.lonely {
		left-- // one waits for the others to finish
	}
	if len(waiting) != left || left == 0 || len(l.episode.MayWaitForever(l.ops, waiting)) != len(waiting) {
		return false
	}
	l.seen = l.events()
	return true
}

// quiet ends the waits that are in order, and returns false if there are none.
func (l *liveRound) quiet() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.endOrderly()
}

func (l *liveRound) endOrderly() bool {
	inOrder := l.episode.MayWaitForever(l.ops, l.waiting())
	for _, op := range inOrder {
		op.Cancelled = true
		l.cancels[op]()
	}
	return len(inOrder) > 0
}

func (l *liveRound) left() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.active--
	switch l.active {
	case 1:
		close(l.alone)
	case 0:
		close(l.idle)
	}
}

func (l *liveRound) view() (*workload.View, *liveWorld) {
	l.mu.Lock()
	defer l.mu.Unlock()
	faulty := lostBy(l.sessions) > l.broken || l.struck() || !l.brisk()
	world := &liveWorld{faulty: faulty, sessions: l.ends(), remains: l.remains}
	v := &workload.View{World: world, Left: workload.Leftovers{Path: l.path}}
	if v.Ops = l.frozen; v.Ops == nil {
		v.Ops = snapshots(l.ops)
	}
	for _, op := range v.Ops {
		if op.Return == 0 && op.Outcome == sim.Running && !op.Cancelled {
			v.Waiting = append(v.Waiting, op)
		}
	}
	return v, world
}

// roundEnds are the ends of a round's sessions, as their links have seen them.
type roundEnds struct {
	sessions []*Session
	alive    map[int64]bool
	begin    time.Time // of stamps
}

func (l *liveRound) ends() roundEnds {
	alive := map[int64]bool{}
	for _, s := range l.sessions {
		alive[s.Conn.SessionID()] = true
	}
	return roundEnds{l.sessions, alive, l.run.begin}
}

// end of a session that has been replaced, and of whose end no link knows, is 0: what it held counts for nothing.
func (e roundEnds) end(session int64) (at int64, ended bool) {
	for _, s := range e.sessions {
		if s.Link == nil {
			continue
		}
		if end, over := s.Link.SessionEnd(session); over {
			return end.Sub(e.begin).Nanoseconds(), true
		}
	}
	return 0, !e.alive[session]
}

func (e roundEnds) gone(session int64) (since int64, known bool) {
	for _, s := range e.sessions {
		if s.Link == nil {
			continue
		}
		if since, known := s.Link.SessionGone(session); known {
			return since.Sub(e.begin).Nanoseconds(), true
		}
	}
	return 0, false
}

// brisk tells whether the machine and its servers were quick enough all the time for nobody to run out of time.
func (l *liveRound) brisk() bool {
	h := l.run.pulse.since(l.began, time.Now())
	return h.steady && h.longest < l.run.cfg.Timeout/4
}

// tree lists the children of a znode with their owners, oldest first; nothing if it cannot.
func (l *liveRound) tree(parent string) (nodes []liveNode) {
	conn := l.run.admin.Conn
	conn.Sync(parent)
	children, _, err := conn.Children(parent)
	if err != nil {
		return nil
	}
	for _, name := range children {
		if ok, stat, err := conn.Exists(parent + "/" + name); ok && err == nil {
			nodes = append(nodes, liveNode{parent + "/" + name, stat.EphemeralOwner, stat.Czxid})
		}
	}
	slices.SortFunc(nodes, func(a, b liveNode) int { return cmp.Compare(a.czxid, b.czxid) })
	return nodes
}

// liveNode is a znode as a client can see it.
type liveNode struct {
	path         string
	owner, czxid int64
}

// leftovers reports what a finished round has left in the tree, as the simulated world does. What callers have
// left behind that gave up may be removed in the background, which takes a moment. The second result says why nobody
// can tell, if so.
func (l *liveRound) leftovers(v *workload.View) (found []sim.Violation, unknown string) {
	found = l.leftover(v)
	w := l.run.newWait(l.living(), max(tidyMax, l.run.cfg.Patience/2))
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for len(found) > 0 && slices.ContainsFunc(l.ops, func(op *sim.Op) bool { return op.Cancelled }) {
		switch w.look() {
		case forever:
			return found, ""
		case tooSlow:
			return nil, errSlow.Error()
		}
		select {
		case <-look.C:
			found = l.leftover(v)
		case <-l.ctx.Done():
			return nil, ""
		}
	}
	return found, ""
}

// tidyMax is how long the background of operations that were given up may take to tidy up after
// everybody has finished, at least.
const tidyMax = 5 * time.Second

// addLeftovers adds them to what is judged.
func (l *liveRound) addLeftovers(v *workload.View, j *workload.Judgement) {
	found, unknown := l.leftovers(v)
	j.Add(found...)
	j.Unknown = cmp.Or(j.Unknown, unknown)
}

// errSlow is why a round is not judged that is too slow for that.
var errSlow = errors.New("for too long the servers or the machine were too slow, or a client was not connected, to tell who waits for ever from who is slow")

// living are the sessions that have a client.
func (l *liveRound) living() []*Session {
	if l.replayer != nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(l.sessions), func(s *Session) bool { return !s.connected() })
}

// leftover looks once: for an ephemeral znode of a session that lives, and a persistent one that was made for one use and never
// had children, as the simulated world does. Whose session has ended cannot tidy up, so the latter are not judged then.
func (l *liveRound) leftover(v *workload.View) []sim.Violation {
	tree := map[string]workload.Znode{}
	admin := l.run.admin.Conn
	if _, err := admin.Sync(l.object); err != nil {
		return nil
	}
	if err := readBelow(admin, l.object, tree); err != nil {
		return nil
	}
	notes := map[int64]int{} // by session
	tidied := l.expiriesNow() == l.expiriesSeen && !v.Left.Values
	for _, path := range slices.Sorted(maps.Keys(tree)) {
		stat := tree[path].Stat
		switch owner := stat.EphemeralOwner; {
		case path == l.run.claim.sign() || path == l.run.claim.inUse():
		case owner != 0 && (!l.alive(owner) || v.Left.Notes && notes[owner] < l.notesOf(v, owner)):
			notes[owner]++
		case owner != 0:
			return []sim.Violation{sim.Violation{Property: "orphan"}.Saying(
				"%s of session %v, which is alive, is left after everybody has finished", sim.Path(path), sim.SessionID(owner))}
		case stat.Cversion == 0 && tidied && path != l.path && l.oneTime(path):
			return []sim.Violation{sim.Violation{Property: "leak"}.Saying("%s is left after everybody has finished", sim.Path(path))}
		}
	}
	return nil
}

// notesOf is how many notes a session's client may keep.
func (l *liveRound) notesOf(v *workload.View, session int64) int {
	client := slices.IndexFunc(l.sessions, func(s *Session) bool { return s.Conn.SessionID() == session })
	return max(workload.NotesOf(v.Ops, client), 1)
}

// oneTime tells whether a name is of a kind that is used once, by one operation or session: it ends in a number that the
// servers have made, or bears the identity of a session or a random one.
func (l *liveRound) oneTime(path string) bool {
	name := path[strings.LastIndexByte(path, '/')+1:]
	return oneTimeName.MatchString(name) || slices.ContainsFunc(l.sessions, func(s *Session) bool {
		id := s.Conn.SessionID()
		return strings.Contains(name, fmt.Sprintf("%x", id)) || strings.Contains(name, fmt.Sprint(id))
	})
}

// oneTimeName matches sequence numbers, and 128 bits as recipes and libraries print them.
var oneTimeName = regexp.MustCompile(`(\d{10}|-\d{9,10})$|[0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// expiriesNow is how many ends of sessions clients have been told of by now.
func (l *liveRound) expiriesNow() (told int) {
	for _, s := range l.sessions {
		told += s.ExpiriesSeen()
	}
	return told
}

// alive tells whether a session is a client's present one.
func (l *liveRound) alive(session int64) bool {
	if l.replayer != nil {
		return l.replayer.alive(session)
	}
	return slices.ContainsFunc(l.sessions, func(s *Session) bool { return s.Conn.SessionID() == session })
}

// liveUser is a user on real servers.
type liveUser struct {
	round           *liveRound
	session         *Session
	clientN, indexN int
	slot            int
	via             *replayedConn // if the round is replayed
}

func (u *liveUser) Client() int       { return u.clientN }
func (u *liveUser) Index() int        { return u.indexN }
func (u *liveUser) ExpiriesSeen() int { return u.session.ExpiriesSeen() }

func (u *liveUser) Conn() recipes.Conn {
	if u.via != nil {
		return u.via
	}
	return u.round.confine(u.session.Conn)
}

// SawExpiryBefore is false unless the round is replayed: else nobody can say what was before what inside of
// a client, so belief is not judged.
func (u *liveUser) SawExpiryBefore() bool { return u.via != nil && u.via.sawExpiryBefore() }

func (u *liveUser) Begin(name, arg string, cancelable bool) (context.Context, *sim.Op) {
	l := u.round
	ctx, cancel := context.WithCancel(l.ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	op := &sim.Op{Name: name, Arg: arg, Client: u.clientN, User: u.indexN, Call: l.run.stamp()}
	op.Number, op.SessionAt = op.Call, u.session.Conn.SessionID()
	u.mark(sim.KindCall, op)
	l.ops = append(l.ops, op)
	l.cancels[op], l.cancelable[op] = cancel, cancelable
	return ctx, op
}

func (u *liveUser) Note(op *sim.Op, about any) {
	u.round.mu.Lock()
	defer u.round.mu.Unlock()
	op.Data = about
}

func (u *liveUser) End(op *sim.Op, outcome sim.Outcome, result string, err error) {
	l := u.round
	now := l.run.stamp()
	l.mu.Lock()
	defer l.mu.Unlock()
	u.mark(sim.KindReturn, op)
	l.cancels[op]()
	delete(l.cancels, op)
	op.Return, op.Outcome, op.Result, op.Err = now, outcome, result, err
	op.SessionAt, op.ExpiriesSeen = u.session.Conn.SessionID(), u.session.ExpiriesSeen()
}

// mark tells the replayer, if there is one, how far the user has come.
func (u *liveUser) mark(kind sim.Kind, op *sim.Op) {
	if u.via != nil {
		u.via.mark(kind, op)
	}
}

// Do takes a moment, as work under a lock does; without it holds would be too short to overlap.
func (u *liveUser) Do(_ string, f func() string) {
	if u.via != nil {
		u.via.ask(outsideZK, "")
	} else {
		u.work()
		u.awake()
	}
	u.round.mu.Lock()
	defer u.round.mu.Unlock()
	f()
}

// work takes a moment.
func (u *liveUser) work() {
	work := time.NewTimer(workTime)
	defer work.Stop()
	select {
	case <-work.C:
	case <-u.round.ctx.Done():
	}
}

// workTime is several times the time of a request.
const workTime = 3 * time.Millisecond

func (u *liveUser) AwaitOthers() {
	u.round.mu.Lock()
	last := u.round.active == 1
	u.round.lonely = true
	u.round.mu.Unlock()
	defer func() {
		u.round.mu.Lock()
		u.round.lonely = false
		u.round.mu.Unlock()
		if u.via == nil {
			u.round.awaitHealthy()
			u.round.heal()
		}
	}()
	if last {
		return
	}
	select {
	case <-u.round.alone:
	case <-u.round.ctx.Done():
	}
}
