package workload

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
)

// liveRound is one round under way.
type liveRound struct {
	run       *liveRun
	ctx       context.Context
	sessions  []*Session
	episode   episode
	object    string     // the round's own znode
	path      string     // what the recipes are given, below it
	faults    []Fault    // that are to strike its clients
	remains   []liveNode // what was there when somebody waited in vain
	broken    int
	told      int
	lasting   sync.WaitGroup // what faults do meanwhile
	healed    chan struct{}  // closed when all faults have ended
	health    sync.Once
	truce     sync.Once  // no server is hurt until the round is over
	blows     int        // that had struck servers before
	conductor *conductor // nil if everybody goes on as they like

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
	for _, parent := range l.episode.parents() {
		if err := makeAll(l.run.admin.Conn, parent); err != nil {
			return fmt.Errorf("workload: %s cannot be made: %w", parent, err)
		}
	}
	l.cancels, l.cancelable = map[*sim.Op]context.CancelFunc{}, map[*sim.Op]bool{}
	l.alone, l.idle, l.healed = make(chan struct{}), make(chan struct{}), make(chan struct{})
	l.asleep, l.blows = map[int]chan struct{}{}, l.run.tormentor.count()
	for _, s := range l.sessions {
		l.broken += s.Broken() + s.Told()
	}
	l.told = l.toldNow()
	return nil
}

// play starts all users and waits until they have finished, or until only such are left as wait.
func (l *liveRound) play() {
	l.start()
	l.finish()
}

// start starts all users.
func (l *liveRound) start() {
	layout := l.episode.users()
	l.active = slot(layout, len(layout), 0) // before the first can have finished
	for client, users := range layout {
		for index := range users {
			u := &liveUser{round: l, session: l.sessions[client], clientN: client, indexN: index, slot: slot(layout, client, index)}
			go func() {
				defer l.left()
				l.episode.run(u)
			}()
		}
	}
}

// finish waits until all users have finished, or until only such are left as wait.
func (l *liveRound) finish() {
	for l.patience() {
		if l.lasts() {
			l.heal() // liveness is judged in calm
		} else if !l.quiet() {
			break
		}
	}
	if l.stuck() {
		l.peaceful()
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

// stuck tells whether somebody waits who should not.
func (l *liveRound) stuck() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.waiting(), func(op *sim.Op) bool { return !op.Cancelled })
}

// patience waits for the end of all users; it returns true when it has run out of patience.
func (l *liveRound) patience() bool {
	timer := time.NewTimer(l.run.cfg.Patience)
	defer timer.Stop()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		before := l.count()
		select {
		case <-l.idle:
			return false
		case <-l.ctx.Done():
			return false
		case <-look.C:
			if l.onlyWaitInOrder() {
				return true
			}
		case <-timer.C:
			if l.count() == before && l.run.tormentor.well(l.run.cfg.Patience) {
				return true
			}
			timer.Reset(l.run.cfg.Patience)
		}
	}
}

// lookEvery is how often a round looks whether only such users are left as may wait for ever.
const lookEvery = 50 * time.Millisecond

func (l *liveRound) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.ops)
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
	return len(waiting) == left && left > 0 && len(l.episode.quiet(l.ops, waiting)) == len(waiting)
}

// quiet ends the waits that are in order, and returns false if there are none.
func (l *liveRound) quiet() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	inOrder := l.episode.quiet(l.ops, l.waiting())
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

func (l *liveRound) view() *view {
	l.mu.Lock()
	defer l.mu.Unlock()
	broken := 0
	for _, s := range l.sessions {
		broken += s.Broken() + s.Told()
	}
	v := &view{left: l.remains, faulty: broken > l.broken || l.struck(), life: func(int, int) (int64, bool) { return 0, false }}
	for _, op := range l.ops {
		snapshot := *op
		v.ops = append(v.ops, &snapshot)
		if op.Return == 0 && op.Outcome == sim.Running && !op.Cancelled {
			v.waiting = append(v.waiting, &snapshot)
		}
	}
	alive := map[int64]bool{}
	for _, s := range l.sessions {
		alive[s.Conn.SessionID()] = true
	}
	v.session = func(id int64) (int64, bool) {
		for _, s := range l.sessions {
			if s.Link == nil {
				continue
			}
			if end, over := s.Link.SessionEnd(id); over {
				return end.Sub(l.run.begin).Nanoseconds(), true
			}
		}
		// A session that has been replaced ended at a moment that nobody here knows: what it held
		// counts for nothing.
		return 0, !alive[id]
	}
	v.gone = func(id int64) (int64, bool) {
		for _, s := range l.sessions {
			if s.Link == nil {
				continue
			}
			if since, known := s.Link.SessionGone(id); known {
				return since.Sub(l.run.begin).Nanoseconds(), true
			}
		}
		return 0, false
	}
	return v
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

// leftovers reports what a finished round has left in the tree, as [view.leftNodes] does in simulation. What callers have
// left behind that gave up may be removed in the background, which takes a moment.
func (l *liveRound) leftovers(v *view) []sim.Violation {
	found := l.leftover(v)
	limit := time.NewTimer(max(tidyMax, l.run.cfg.Patience/2))
	defer limit.Stop()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for len(found) > 0 && slices.ContainsFunc(l.ops, func(op *sim.Op) bool { return op.Cancelled }) {
		select {
		case <-look.C:
			found = l.leftover(v)
		case <-limit.C:
			return found
		case <-l.ctx.Done():
			return nil
		}
	}
	return found
}

// tidyMax is how long the background of operations that were given up may take to tidy up after
// everybody has finished.
const tidyMax = 5 * time.Second

// leftover looks once: for an ephemeral znode of a session that lives, and a persistent one that is nobody's parent and
// never was. Whose session has ended cannot tidy up, so the latter are not judged then.
func (l *liveRound) leftover(v *view) []sim.Violation {
	tree := map[string]znode{}
	admin := l.run.admin.Conn
	if _, err := admin.Sync(l.object); err != nil {
		return nil
	}
	if err := readBelow(admin, l.object, tree); err != nil {
		return nil
	}
	given := slices.Concat(l.episode.parents(), v.dirs, []string{l.path})
	tidied := l.toldNow() == l.told && !v.values
	for _, path := range slices.Sorted(maps.Keys(tree)) {
		stat := tree[path].stat
		switch {
		case kept(path):
		case stat.EphemeralOwner != 0 && l.alive(stat.EphemeralOwner):
			return []sim.Violation{{Property: "orphan", Message: fmt.Sprintf(
				"%s of session 0x%x, which is alive, is left after everybody has finished", path, stat.EphemeralOwner)}}
		case stat.EphemeralOwner == 0 && stat.Cversion == 0 && tidied && !slices.Contains(given, path):
			return []sim.Violation{{Property: "leak", Message: path + " is left after everybody has finished"}}
		}
	}
	return nil
}

// toldNow is how many ends of sessions clients have been told of by now.
func (l *liveRound) toldNow() (told int) {
	for _, s := range l.sessions {
		told += s.Told()
	}
	return told
}

// alive tells whether a session is a client's present one.
func (l *liveRound) alive(session int64) bool {
	if l.conductor != nil {
		return l.conductor.alive(session)
	}
	return slices.ContainsFunc(l.sessions, func(s *Session) bool { return s.Conn.SessionID() == session })
}

// liveUser is a user on real servers.
type liveUser struct {
	round           *liveRound
	session         *Session
	clientN, indexN int
	slot            int
	via             *conductedConn // if the round is conducted
}

func (u *liveUser) client() int { return u.clientN }
func (u *liveUser) index() int  { return u.indexN }
func (u *liveUser) told() int   { return u.session.Told() }

func (u *liveUser) conn() recipes.Conn {
	if u.via != nil {
		return u.via
	}
	return u.session.Conn
}

// toldBefore is false unless the round is conducted: else nobody can say what was before what inside of
// a client, so belief is not judged.
func (u *liveUser) toldBefore() bool { return u.via != nil && u.via.toldBefore() }

func (u *liveUser) begin(name, arg string, cancelable bool) (context.Context, *sim.Op) {
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

func (u *liveUser) end(op *sim.Op, outcome sim.Outcome, result string, err error) {
	l := u.round
	now := l.run.stamp()
	l.mu.Lock()
	defer l.mu.Unlock()
	u.mark(sim.KindReturn, op)
	l.cancels[op]()
	delete(l.cancels, op)
	op.Return, op.Outcome, op.Result, op.Err = now, outcome, result, err
	op.SessionAt, op.ToldAt = u.session.Conn.SessionID(), u.session.Told()
}

// mark tells the conductor, if there is one, how far the user has come.
func (u *liveUser) mark(kind sim.Kind, op *sim.Op) {
	if u.via != nil {
		u.via.mark(kind, op)
	}
}

// do takes a moment, as work under a lock does; without it holds would be too short to overlap.
func (u *liveUser) do(_ string, f func() string) {
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

func (u *liveUser) awaitOthers() {
	u.round.mu.Lock()
	last := u.round.active == 1
	u.round.lonely = true
	u.round.mu.Unlock()
	defer func() {
		u.round.mu.Lock()
		u.round.lonely = false
		u.round.mu.Unlock()
		if u.via == nil {
			u.round.peaceful()
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
