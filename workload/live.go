package workload

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
)

// Session is one client's session with real servers.
type Session struct {
	Conn  recipes.Conn
	Close func()
	// Told counts the session's ends that the client has been told of; Broken counts how often it
	// lost its connection.
	Told, Broken func() int
}

// LiveConfig says how to run a workload on real servers. Each round is an episode like the
// simulator's, on an object of its own, with as many clients at the same time; several rounds are
// under way together.
type LiveConfig struct {
	Open     func(ctx context.Context) (*Session, error)
	Root     string // objects live below; made, and removed afterwards; must not exist or be empty
	Seed     uint64
	Rounds   int           // 0: until Duration is over
	Duration time.Duration // 0: 30 s, if Rounds is 0 too
	Clients  int           // at most so many a round
	Ops      int           // at most so many a user
	Lanes    int           // rounds under way at the same time; default 8
	Patience time.Duration // how long somebody may wait before it counts as for ever; default 10 s
	History  io.Writer     // gets each round's history before it is judged
	Progress func(sim.Progress)
}

// ErrRoot is the error of a root path that must not be used.
var ErrRoot = errors.New("workload: the root path cannot be used")

func (cfg LiveConfig) withDefaults() LiveConfig {
	if cfg.Rounds == 0 && cfg.Duration == 0 {
		cfg.Duration = 30 * time.Second
	}
	if cfg.Lanes == 0 {
		cfg.Lanes = 8
	}
	if cfg.Patience == 0 {
		cfg.Patience = 10 * time.Second
	}
	if cfg.History == nil {
		cfg.History = io.Discard
	}
	return cfg
}

// RunLive runs rounds of the workload on real servers, without faults, and sums up like [sim.Run].
// The error is for runs that could not be done.
func (w *Workload) RunLive(ctx context.Context, config LiveConfig) (sim.Result, error) {
	cfg := config.withDefaults()
	admin, err := cfg.Open(ctx)
	if err != nil {
		return sim.Result{}, err
	}
	defer admin.Close()
	made, err := claimRoot(admin.Conn, cfg.Root)
	if err != nil {
		return sim.Result{}, err
	}
	r := &liveRun{workload: w, cfg: cfg, begin: time.Now(), found: map[string]int{}}
	r.result = sim.Result{Workload: w.kind, Recipe: w.recipe, Strategy: "random", Seed: cfg.Seed, Verdict: sim.VerdictOK, Struck: map[string]int{}}
	err = r.run(ctx)
	if cleanErr := removeAll(admin.Conn, cfg.Root); err == nil && cleanErr != nil {
		err = fmt.Errorf("workload: the root path %s could not be removed: %w", cfg.Root, cleanErr)
	}
	for _, parent := range slices.Backward(made) {
		admin.Conn.Delete(parent, -1) // unless somebody else has begun to use it
	}
	return r.finish(ctx), err
}

// liveRun is a RunLive under way.
type liveRun struct {
	workload *Workload
	cfg      LiveConfig
	begin    time.Time
	rounds   atomic.Int64
	last     atomic.Int64 // the last stamp given out

	mu     sync.Mutex
	result sim.Result
	found  map[string]int // index into result.Violations by property
}

// stamp reads the one clock of the run: nanoseconds since its start, never the same twice.
func (r *liveRun) stamp() int64 {
	for {
		last := r.last.Load()
		now := max(time.Since(r.begin).Nanoseconds(), last+1)
		if r.last.CompareAndSwap(last, now) {
			return now
		}
	}
}

func (r *liveRun) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	timed := ctx
	if r.cfg.Duration > 0 {
		var done context.CancelFunc
		timed, done = context.WithTimeout(ctx, r.cfg.Duration)
		defer done()
	}
	errs := make(chan error, r.cfg.Lanes)
	for range r.cfg.Lanes {
		go func() { errs <- r.lane(ctx, timed) }()
	}
	var first error
	for range r.cfg.Lanes {
		if err := <-errs; err != nil && first == nil {
			first = err
			cancel()
		}
	}
	return first
}

// lane runs rounds one after the other, with sessions of its own that live from round to round.
func (r *liveRun) lane(ctx, timed context.Context) error {
	var sessions []*Session
	defer func() { closeAll(sessions) }()
	for timed.Err() == nil {
		n := r.rounds.Add(1) - 1
		if r.cfg.Rounds > 0 && n >= int64(r.cfg.Rounds) {
			return nil
		}
		if sessions == nil {
			var err error
			if sessions, err = r.openAll(ctx); err != nil {
				return interrupted(ctx, err)
			}
		}
		stuck, err := r.round(ctx, uint64(n), sessions)
		if err != nil {
			return interrupted(ctx, err)
		}
		if stuck { // whoever still waits does so with these sessions
			closeAll(sessions)
			sessions = nil
		}
	}
	return nil
}

// interrupted is no error of the run if the run was called off.
func interrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func (r *liveRun) openAll(ctx context.Context) (sessions []*Session, err error) {
	for range r.cfg.Clients {
		s, err := r.cfg.Open(ctx)
		if err != nil {
			closeAll(sessions)
			return nil, err
		}
		sessions = append(sessions, s)
	}
	return sessions, nil
}

func closeAll(sessions []*Session) {
	for _, s := range sessions {
		s.Close()
	}
}

// round runs one episode on an object of its own. stuck tells that somebody is still waiting, so
// that the sessions cannot be used again.
func (r *liveRun) round(ctx context.Context, n uint64, sessions []*Session) (stuck bool, err error) {
	object := fmt.Sprintf("%s/r%d", r.cfg.Root, n)
	plan := sim.NewPlan(sim.NewRandomSource(r.cfg.Seed, n), r.cfg.Clients, 2, r.cfg.Ops, sim.NoFaults, object)
	l := &liveRound{run: r, ctx: ctx, sessions: sessions, episode: r.workload.plan(plan, object+"/"+r.workload.kind)}
	if err := l.prepare(); err != nil {
		return false, err
	}
	l.play()
	v := l.view()
	h := l.episode.history(v)
	for i := range h {
		h[i].Object = object
	}
	r.mu.Lock()
	err = linearizability.Write(r.cfg.History, h)
	r.mu.Unlock()
	if err != nil {
		return false, fmt.Errorf("workload: the history cannot be written: %w", err)
	}
	if ctx.Err() != nil {
		return true, nil // interrupted: what was not finished cannot be judged
	}
	if len(v.waiting) > 0 {
		v.left = l.tree(object + "/" + r.workload.kind)
	}
	j := l.episode.judge(v)
	if len(v.waiting) == 0 {
		j.add(l.leftovers(object)...)
		err = removeAll(sessions[0].Conn, object)
	}
	r.record(int(n), v, j)
	return len(v.waiting) > 0, err
}

func (r *liveRun) record(n int, v *view, j judgement) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.result.Episodes++
	r.result.Operations += int64(len(v.ops))
	if j.Unknown != "" && len(j.Violations) == 0 {
		r.result.Undecided++
		r.result.Reason = fmt.Sprintf("round %d could not be judged: %s", n, j.Unknown)
	}
	for _, found := range j.Violations {
		if i, ok := r.found[found.Property]; ok {
			r.result.Violations[i].Times++
			continue
		}
		r.found[found.Property] = len(r.result.Violations)
		r.result.Violations = append(r.result.Violations, sim.Found{Violation: found, Episode: n, Times: 1, History: j.History})
	}
	if r.cfg.Progress != nil {
		r.cfg.Progress(sim.Progress{Episodes: r.result.Episodes, Of: r.cfg.Rounds, Violations: len(r.result.Violations), Elapsed: time.Since(r.begin)})
	}
}

func (r *liveRun) finish(ctx context.Context) sim.Result {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.result
	out.Elapsed = time.Since(r.begin)
	out.Interrupted = ctx.Err() != nil
	switch {
	case len(out.Violations) > 0:
		out.Verdict = sim.VerdictViolation
	case out.Undecided > 0:
		out.Verdict = sim.VerdictUnknown
	case out.Episodes == 0:
		out.Verdict, out.Reason = sim.VerdictUnknown, "no round was finished"
	}
	return out
}

// liveRound is one round under way.
type liveRound struct {
	run      *liveRun
	ctx      context.Context
	sessions []*Session
	episode  episode
	broken   int

	mu      sync.Mutex
	ops     []*sim.Op
	current map[int]*sim.Op // by slot
	cancels map[*sim.Op]context.CancelFunc
	active  int           // users that have not finished …
	lonely  bool          // … one of whom waits for the others
	alone   chan struct{} // closed when only the one who waits for it is left
	idle    chan struct{} // closed when nobody is left
}

func (l *liveRound) prepare() error {
	for _, parent := range l.episode.parents() {
		if _, err := makeAll(l.sessions[0].Conn, parent); err != nil {
			return fmt.Errorf("workload: %s cannot be made: %w", parent, err)
		}
	}
	l.current, l.cancels = map[int]*sim.Op{}, map[*sim.Op]context.CancelFunc{}
	l.alone, l.idle = make(chan struct{}), make(chan struct{})
	for _, s := range l.sessions {
		l.broken += s.Broken() + s.Told()
	}
	return nil
}

// play starts all users and waits until they have finished, or until only such are left as wait.
func (l *liveRound) play() {
	layout := l.episode.users()
	for client, users := range layout {
		for index := range users {
			l.active++
			u := &liveUser{round: l, session: l.sessions[client], clientN: client, indexN: index, slot: slot(layout, client, index)}
			go func() {
				defer l.left()
				l.episode.run(u)
			}()
		}
	}
	for l.patience() {
		if !l.quiet() {
			break
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, cancel := range l.cancels {
		cancel()
	}
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
			if l.count() == before {
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
		if op.Return == 0 {
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
	v := &view{faulty: broken > l.broken, life: func(int, int) (int64, bool) { return 0, false }}
	for _, op := range l.ops {
		snapshot := *op
		v.ops = append(v.ops, &snapshot)
		if op.Return == 0 && !op.Cancelled {
			v.waiting = append(v.waiting, &snapshot)
		}
	}
	alive := map[int64]bool{}
	for _, s := range l.sessions {
		alive[s.Conn.SessionID()] = true
	}
	// A session that has been replaced ended at a moment that nobody here knows: what it held
	// counts for nothing.
	v.session = func(id int64) (int64, bool) { return 0, !alive[id] }
	return v
}

// tree lists the children of a znode with their owners, oldest first; nothing if it cannot.
func (l *liveRound) tree(parent string) (nodes []liveNode) {
	conn := l.sessions[0].Conn
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

// leftovers reports what a finished round has left in the tree.
func (l *liveRound) leftovers(object string) []sim.Violation {
	for _, s := range l.sessions {
		if s.Told() > 0 {
			return nil // what the old session left goes when the servers say so
		}
	}
	parent := object + "/" + l.run.workload.kind
	if _, err := l.sessions[0].Conn.Sync(parent); err != nil {
		return nil
	}
	children, _, err := l.sessions[0].Conn.Children(parent)
	if err != nil {
		return nil
	}
	for _, name := range children {
		if !strings.HasPrefix(name, "claim-") {
			return []sim.Violation{{Property: "orphan", Message: fmt.Sprintf("%s/%s is left after everybody has finished", parent, name)}}
		}
	}
	return nil
}

// liveUser is a user on real servers.
type liveUser struct {
	round           *liveRound
	session         *Session
	clientN, indexN int
	slot            int
	toldAt          int
}

func (u *liveUser) client() int        { return u.clientN }
func (u *liveUser) index() int         { return u.indexN }
func (u *liveUser) conn() recipes.Conn { return u.session.Conn }
func (u *liveUser) told() int          { return u.session.Told() }

// toldBefore is always false: without the simulator nobody can say what was before what inside of
// a client, so belief is not judged.
func (u *liveUser) toldBefore() bool { return false }

func (u *liveUser) begin(name, arg string, _ bool) (context.Context, *sim.Op) {
	l := u.round
	ctx, cancel := context.WithCancel(l.ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	op := &sim.Op{Name: name, Arg: arg, Client: u.clientN, User: u.indexN, Call: l.run.stamp()}
	op.Number, op.SessionAt = op.Call, u.session.Conn.SessionID()
	l.ops = append(l.ops, op)
	l.cancels[op] = cancel
	return ctx, op
}

func (u *liveUser) end(op *sim.Op, outcome sim.Outcome, result string, err error) {
	l := u.round
	now := l.run.stamp()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cancels[op]()
	delete(l.cancels, op)
	op.Return, op.Outcome, op.Result, op.Err = now, outcome, result, err
	op.SessionAt, op.ToldAt = u.session.Conn.SessionID(), u.session.Told()
}

// do takes a moment, as work under a lock does; without it holds would be too short to overlap.
func (u *liveUser) do(_ string, f func() string) {
	work := time.NewTimer(workTime)
	defer work.Stop()
	select {
	case <-work.C:
	case <-u.round.ctx.Done():
	}
	u.round.mu.Lock()
	defer u.round.mu.Unlock()
	f()
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
	}()
	if last {
		return
	}
	select {
	case <-u.round.alone:
	case <-u.round.ctx.Done():
	}
}

// claimRoot makes the root path, and refuses one that holds something already. It returns what it
// had to make.
func claimRoot(conn recipes.Conn, root string) (made []string, err error) {
	if root == "/" || path.Clean(root) != root || !strings.HasPrefix(root, "/") {
		return nil, fmt.Errorf("%w: %q is not a clean absolute path below /", ErrRoot, root)
	}
	children, _, err := conn.Children(root)
	switch {
	case err == nil && len(children) > 0:
		return nil, fmt.Errorf("%w: %s exists and is not empty: choose another", ErrRoot, root)
	case err != nil && err != zk.ErrNoNode:
		return nil, fmt.Errorf("%w: %s: %w", ErrRoot, root, err)
	}
	made, err = makeAll(conn, root)
	if err != nil {
		return nil, fmt.Errorf("%w: %s cannot be made: %w", ErrRoot, root, err)
	}
	return made, nil
}

// makeAll makes a znode and those above it, and returns those that were not there.
func makeAll(conn recipes.Conn, p string) (made []string, err error) {
	for i := 1; i <= len(p); i++ {
		if i < len(p) && p[i] != '/' {
			continue
		}
		switch _, err := conn.Create(p[:i], nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll)); err {
		case nil:
			made = append(made, p[:i])
		case zk.ErrNodeExists:
		default:
			return made, err
		}
	}
	return made, nil
}

// removeAll removes a znode and what is below it; it is not an error if it is not there.
func removeAll(conn recipes.Conn, p string) error {
	for range removeTries {
		children, _, err := conn.Children(p)
		if err == zk.ErrNoNode {
			return nil
		}
		if err != nil {
			return err
		}
		for _, name := range children {
			if err := removeAll(conn, p+"/"+name); err != nil {
				return err
			}
		}
		if err := conn.Delete(p, -1); err != zk.ErrNotEmpty {
			if err == zk.ErrNoNode {
				return nil
			}
			return err
		}
	}
	return fmt.Errorf("%s: somebody keeps adding to it", p)
}

const removeTries = 20
