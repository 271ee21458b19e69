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

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// round is one episode of a workload on real servers, on its own object, under faults, with clients at full speed.
type round struct {
	run           *liveRun
	ctx           context.Context
	sessions      []*Session // of the clients
	episode       workload.Episode
	began         time.Time
	slow          bool        // too slow to tell a long wait from an endless one
	seen          int         // events, at the last look
	frozen        []*world.Op // copies from the moment when an endless wait was found; nil if none was
	object        string      // the round's own znode
	path          string      // what the recipes are given, below it
	faults        []Fault     // that are to strike its clients
	remains       []liveNode  // the tree when an endless wait was found
	broken        int
	lasting       sync.WaitGroup // what faults do meanwhile
	healed        chan struct{}  // closed when all faults have ended
	health        sync.Once
	truce         sync.Once // no server is hurt until the round is over
	serverStrikes int       // that had struck servers before

	mu         sync.Mutex
	ops        []*world.Op
	held       []held
	cancels    map[*world.Op]context.CancelFunc
	cancelable map[*world.Op]bool
	strikes    []*Strike
	asleep     map[int]chan struct{} // by client that is paused: closed when it goes on
	active     int                   // users that have not finished …
	lonely     bool                  // … one of which waits for the others
	alone      chan struct{}         // closed when only the user waiting for it is left
	idle       chan struct{}         // closed when no user is left
}

// newRound returns a round of which nothing has happened yet.
func (r *liveRun) newRound(w *workload.Workload, plan *world.Plan, object string) *round {
	l := &round{run: r, object: object, path: object + "/" + w.Name()}
	l.episode = w.Episode(plan, l.path)
	return l
}

// prepare makes the round's znodes. What its clients knew before does not count.
func (l *round) prepare() error {
	if err := l.make(); err != nil {
		return fmt.Errorf("live: %s cannot be made: %w", l.object, err)
	}
	l.cancels, l.cancelable = map[*world.Op]context.CancelFunc{}, map[*world.Op]bool{}
	l.alone, l.idle, l.healed = make(chan struct{}), make(chan struct{}), make(chan struct{})
	l.asleep, l.serverStrikes = map[int]chan struct{}{}, l.run.nemesis.count()
	l.broken = lostBy(l.sessions)
	for _, users := range l.users() {
		l.active += users
	}
	l.began = time.Now()
	return nil
}

// make makes the round's znodes, in the run's root.
func (l *round) make() (err error) {
	if err = l.run.claim.hold(l.run.admin.Conn); err != nil {
		return err
	}
	if err = l.run.claim.make(l.run.admin.Conn, l.episode.Parents()); err != nil {
		return err
	}
	return l.run.workload.SetUp(l.run.admin.Conn, l.path)
}

// users returns how many users each client has.
func (l *round) users() []int { return l.episode.Users() }

// start starts all users.
func (l *round) start() {
	for client, users := range l.users() {
		for index := range users {
			go func() {
				defer l.left()
				l.episode.Run(l.user(client, index))
			}()
		}
	}
}

// finish waits until every user has finished or waits for ever, and ends the waits. It returns false if the servers or
// the machine were too slow to tell endless waits: then the round cannot be judged.
func (l *round) finish() (judgeable bool) {
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
		l.remains = l.tree(l.path) // before recipes tidy up
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, cancel := range l.cancels {
		cancel()
	}
	return !l.slow
}

// lasts reports whether the round's faults have not ended yet.
func (l *round) lasts() bool {
	select {
	case <-l.healed:
		return false
	default:
		return len(l.strikes) > 0
	}
}

// stuck reports whether an operation waits that should not, and records the state before the wait is ended. Waits that
// are in order it ends first. It returns false if anything has happened since the last look.
func (l *round) stuck() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.events() != l.seen || l.endOrderly() {
		return false
	}
	l.frozen = snapshots(l.ops)
	return true
}

func snapshots(ops []*world.Op) (all []*world.Op) {
	for _, op := range ops {
		snapshot := *op
		all = append(all, &snapshot)
	}
	return all
}

// patience waits for the end of all users, or until there is no use in waiting.
func (l *round) patience() outlook {
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

func (l *round) newWait() *wait { return l.run.newWait(l.waiters(), l.run.cfg.Patience) }

// stirred reports whether anything has happened since the last look.
func (l *round) stirred() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	was := l.seen
	l.seen = l.events()
	return l.seen != was
}

// lookEvery is the interval of looks for progress.
const lookEvery = 50 * time.Millisecond

// waiters are the sessions of waiting operations.
func (l *round) waiters() (of []*Session) {
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
func (l *round) events() (n int) {
	for _, op := range l.ops {
		if n++; op.Return != 0 {
			n++
		}
	}
	return n
}

func (l *round) waiting() []*world.Op {
	var ops []*world.Op
	for _, op := range l.ops {
		if op.Return == 0 && op.Outcome == world.Running {
			ops = append(ops, op)
		}
	}
	return ops
}

// onlyWaitInOrder reports whether every unfinished operation waits, and is allowed to.
func (l *round) onlyWaitInOrder() bool {
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

// endOrderly ends the waits that are in order, and returns false if there are none. The round is locked.
func (l *round) endOrderly() bool {
	inOrder := l.episode.MayWaitForever(l.ops, l.waiting())
	for _, op := range inOrder {
		op.Cancelled = true
		l.cancels[op]()
	}
	return len(inOrder) > 0
}

// left notes that a user has finished.
func (l *round) left() {
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

// view is what the clients have seen of a round that is over, and what is known of its world.
func (l *round) view() *workload.View {
	l.mu.Lock()
	defer l.mu.Unlock()
	faulty := l.hit() || !l.brisk()
	known := &liveWorld{faulty: faulty, roundEnds: l.ends(), remains: l.remains}
	v := &workload.View{World: known, Left: workload.Leftovers{Path: l.path}}
	if v.Ops = l.frozen; v.Ops == nil {
		v.Ops = snapshots(l.ops)
	}
	for _, op := range v.Ops {
		if op.Return == 0 && op.Outcome == world.Running && !op.Cancelled {
			v.Waiting = append(v.Waiting, op)
		}
	}
	return v
}

// roundEnds are the ends of a round's sessions, as their links have seen them.
type roundEnds struct {
	links []Link
	alive map[int64]bool
	begin time.Time // of stamps
}

func (l *round) ends() roundEnds {
	e := roundEnds{alive: map[int64]bool{}, begin: l.run.begin}
	for _, s := range l.sessions {
		e.alive[s.Conn.SessionID()] = true
		if s.Link != nil {
			e.links = append(e.links, s.Link)
		}
	}
	return e
}

// SessionEnd is 0 for a replaced session whose end no link has seen: what it held does not count.
func (e roundEnds) SessionEnd(session int64) (at int64, ended bool) {
	for _, link := range e.links {
		if end, over := link.SessionEnd(session); over {
			return end.Sub(e.begin).Nanoseconds(), true
		}
	}
	return 0, !e.alive[session]
}

func (e roundEnds) SessionGone(session int64) (since int64, known bool) {
	for _, link := range e.links {
		if since, known := link.SessionGone(session); known {
			return since.Sub(e.begin).Nanoseconds(), true
		}
	}
	return 0, false
}

// hit reports whether a fault struck, or a connection broke.
func (l *round) hit() bool { return lostBy(l.sessions) > l.broken || l.struck() }

// brisk reports whether the machine and the servers were always quick enough for requests not to time out.
func (l *round) brisk() bool {
	h := l.run.pulse.since(l.began, time.Now())
	return h.steady && h.longest < l.run.cfg.Timeout/4
}

// tree lists the children of a znode with their owners, oldest first; nothing if it cannot.
func (l *round) tree(parent string) (nodes []liveNode) {
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

// leftovers reports the znodes that a finished round has left, as the simulated world does. Recipes may tidy up in the
// background for a moment. The second result says why leftovers are unknown, if they are.
func (l *round) leftovers(v *workload.View) (found []sim.Violation, unknown string) {
	found = l.leftover(v)
	w := l.run.newWait(l.living(), max(tidyMax, l.run.cfg.Patience/2))
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for len(found) > 0 {
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

// tidyMax is the least time that cancelled operations have to tidy up after all users have finished.
const tidyMax = 5 * time.Second

// judge judges a round by the view of it.
func (l *round) judge(v *workload.View) workload.Judgement {
	j := l.episode.Judge(v)
	j.Resolve()
	return j
}

// addLeftovers adds the znodes that are left when all users have finished to the judgement. One beside which none was ever
// removed may say that its client lives.
func (l *round) addLeftovers(v *workload.View, j *workload.Judgement) {
	found, unknown := l.leftovers(v)
	j.Add(found...)
	j.Unknown = cmp.Or(j.Unknown, unknown)
}

// errSlow is why a round is not judged that is too slow for that.
var errSlow = errors.New("the servers or the machine were too slow, or a client was not connected, for so long " +
	"that an operation that waits for ever cannot be told from a slow one")

// living are the sessions that have a client.
func (l *round) living() []*Session {
	return slices.DeleteFunc(slices.Clone(l.sessions), func(s *Session) bool { return !s.connected() })
}

// leftover looks once for ephemeral znodes of live sessions, and for persistent ones that were made for one use and
// never had children, as the simulated world does. Clients whose sessions ended cannot tidy up: then the latter are
// not judged.
func (l *round) leftover(v *workload.View) []sim.Violation {
	tree := map[string]*zk.Stat{}
	admin := l.run.admin.Conn
	if _, err := admin.Sync(l.object); err != nil {
		return nil
	}
	if err := readBelow(admin, l.object, tree); err != nil {
		return nil
	}
	notes, own := map[int64]int{}, map[string]int{} // by session, and by directory
	callers := callersOf(v.Ops)
	removed := func(path string) bool { // whether anything below its parent was ever removed
		parent, known := tree[path[:max(strings.LastIndexByte(path, '/'), 1)]]
		return !known || parent.Cversion != parent.NumChildren
	}
	for _, path := range slices.Sorted(maps.Keys(tree)) {
		stat := tree[path]
		switch owner := stat.EphemeralOwner; {
		case path == l.run.claim.sign() || path == l.run.claim.inUse() || v.Left.Interlude(path):
		case owner != 0 && (!l.alive(owner) || v.Left.Notes && notes[owner] < l.notesOf(v, owner)):
			notes[owner]++
		case owner != 0 && !removed(path):
			// it says that its client lives
		case owner != 0:
			return []sim.Violation{sim.Violation{Property: "orphan"}.Saying(
				"%s of session %v, which is alive, is left after everybody has finished",
				world.Path(path), world.SessionID(owner))}
		case !l.hit() && !v.Left.Values && l.oneTime(path):
			dir := path[:strings.LastIndexByte(path, '/')]
			if own[dir]++; own[dir] > callers {
				return []sim.Violation{sim.Violation{Property: "leak"}.Saying(
					"%s is left after everybody has finished, with %d others", world.Path(path), callers)}
			}
		}
	}
	return nil
}

// callersOf counts the users that have called each operation. If they have left more znodes of one call's own in one
// directory, some calls of one operation by one user have left several.
func callersOf(ops []*world.Op) int {
	type caller struct {
		client, user int
		name         string
	}
	all := map[caller]bool{}
	for _, op := range ops {
		all[caller{op.Client, op.User, op.Name}] = true
	}
	return len(all)
}

// notesOf is how many notes a session's client may keep.
func (l *round) notesOf(v *workload.View, session int64) int {
	client := slices.IndexFunc(l.sessions, func(s *Session) bool { return s.Conn.SessionID() == session })
	return max(v.Left.NotesOf(v.Ops, client), 1)
}

// oneTime reports whether a name is used once, by one operation or session: it ends in a sequence number, or contains a
// session's or a random identity.
func (l *round) oneTime(path string) bool {
	name := path[strings.LastIndexByte(path, '/')+1:]
	return oneTimeName.MatchString(name) || slices.ContainsFunc(l.sessions, func(s *Session) bool {
		id := s.Conn.SessionID()
		return strings.Contains(name, fmt.Sprintf("%x", id)) || strings.Contains(name, fmt.Sprint(id))
	})
}

// oneTimeName matches sequence numbers, and 128 bits as recipes and libraries print them.
var oneTimeName = regexp.MustCompile(`(\d{10}|-\d{9,10})$|[0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// alive reports whether a session is a client's present one.
func (l *round) alive(session int64) bool {
	return slices.ContainsFunc(l.sessions, func(s *Session) bool { return s.Conn.SessionID() == session })
}
