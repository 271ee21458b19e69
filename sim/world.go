package sim

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk"
)

// World is one simulated world during one episode: servers, client processes, and the one loop
// that decides what happens next. A workload sees it when it judges.
//
// Invariant: between two calls of settle nobody but the loop's goroutine runs.
type World struct {
	cfg      *episodeConfig
	source   recorder
	menu     menuTaker // nil unless the source wants to know all places where a fault could strike
	faults   Faults    // drawn for this episode
	episode  Episode
	servers  *fakezk.Ensemble
	replicas int
	procs    []*process
	last     int // the client that acted last

	step      int
	start     time.Time
	elapsed   int64 // bubble time since start, ms
	offset    int64 // the servers' clock is ahead of the bubble's by this, ms
	faultsDue int   // how many more faults may strike
	calm      bool
	stirred   int64 // elapsed when an operation last began or ended
	tortured  int   // steps of the torture phase

	mu        sync.Mutex // guards what recipes' goroutines hand in
	submitted []*fakezk.Call
	outside   []*outsideCall
	notes     []note
	kick      chan struct{}

	ops         []*Op
	changes     []Change
	deaths      map[int64]int
	struck      [faultCount]int
	wraps       bool
	counters    []string // created, and not yet started near the end
	actor       int64    // number of the operation whose request is being carried out
	firstNumber int32    // of sequential children, in an episode with Wrap
	panicked    []Violation
	herd        []Herd
	trace       *[]Step
	hash        uint64
	actions     []action
	targets     []target
	parents     map[string]bool // znodes that have had children
	empty       []string        // memory of findReap
}

// Change is one elementary change of the tree or of the sessions, with the step that caused it.
type Change struct {
	fakezk.Change
	Step int
	By   int64 // the Number of the operation that asked for it, 0 if none did
}

// Herd tells that one deletion woke several waiting operations.
type Herd struct {
	Step int
	Zxid int64
	Path string
	Ops  []*Op
}

// process is one client process: one session (at a time), several users.
type process struct {
	id        int
	client    *fakezk.Client
	users     []*User
	life      int
	held      bool // what the servers send stays on the way …
	heldEvent bool // … and there is a watch event in it
	paused    bool
	crashed   bool
	told      []int // steps at which it learned that a session was gone
	crashes   []int // steps at which it died
}

type outsideCall struct {
	user *User
	what string
	do   func() string
	when func() bool // nil: at any time
	done chan bool   // false: the process is dead
}

const (
	sessionTimeout = 4000 // ms
	tickTime       = 2000 // ms
	epoch          = 946684800000
)

func newWorld(cfg *episodeConfig) *World {
	w := &World{
		cfg: cfg, source: recorder{source: cfg.source, made: cfg.made[:0]}, servers: cfg.servers,
		start: time.Now(), last: -1, kick: make(chan struct{}, 1), deaths: map[int64]int{}, parents: map[string]bool{}, hash: hashStart, trace: cfg.trace,
	}
	w.menu, _ = cfg.source.(menuTaker)
	return w
}

func (w *World) choose(n int, label string) int {
	if n < 2 {
		return 0
	}
	return w.source.Choose(n, label)
}

// now is the servers' clock in milliseconds since 1970.
func (w *World) now() int64 { return epoch + w.elapsed + w.offset }

// setUp draws the episode and builds the world in which it runs.
func (w *World) setUp(workload Workload) {
	for i := range faultCount {
		if f := Faults(1 << i); w.cfg.faults.Has(f) && w.choose(2, LabelSwarm) == 1 {
			w.faults |= f
		}
	}
	if w.faults != 0 {
		w.faultsDue = 1 + w.choose(6, "faults at most")
	}
	w.replicas = 1
	if w.faults.Has(Lag) {
		w.replicas = 3
	}
	w.servers.Reset(fakezk.Config{
		Replicas: w.replicas, Tick: tickTime, Order: 1,
		Compat: fakezk.Compat{SequenceWraps: w.faults.Has(Wrap) && w.choose(2, "counter wraps or sticks") == 0},
	})
	if w.faults.Has(Wrap) {
		w.firstNumber = math.MaxInt32 - int32(w.choose(4, "first number"))
	}
	w.servers.OnCommit = w.committed
	w.servers.OnEvent = w.eventSent
	w.episode = workload.Plan(&Plan{
		source: &w.source, Clients: w.cfg.clients, Users: 2, Ops: w.cfg.ops, Faults: w.faults, Root: Root0,
	})
	w.makeParents()
	for id, users := range w.episode.Users() {
		w.procs = append(w.procs, &process{id: id})
		for i := range users {
			w.procs[id].users = append(w.procs[id].users, &User{Client: id, Index: i})
		}
	}
	for _, p := range w.procs {
		w.launch(p)
	}
}

// Root0 is the path below which the objects of simulated episodes live.
const Root0 = "/t"

// makeParents makes the znodes that the episode wants to be there, and those above them.
func (w *World) makeParents() {
	made := map[string]bool{}
	for _, path := range w.episode.Parents() {
		for i := 1; i <= len(path); i++ {
			if i == len(path) || path[i] == '/' {
				w.makeParent(path[:i], made)
			}
		}
	}
}

func (w *World) makeParent(path string, made map[string]bool) {
	if !made[path] {
		made[path] = true
		w.servers.Admin(w.now(), &fakezk.Request{Op: fakezk.OpCreate, Path: path, ACL: zk.WorldACL(zk.PermAll)})
		w.startCounters()
	}
}

// launch starts a process: it opens a session, and each user's script runs until it blocks.
func (w *World) launch(p *process) {
	c := fakezk.NewClient(w, w.servers, sessionTimeout, synctest.Wait)
	c.GUIDSeed = uint32(p.life)<<8 | uint32(p.id+1)
	c.OnExpired = func(session int64) {
		p.told = append(p.told, w.step)
		w.fold(uint64(session))
	}
	p.client = c
	c.Dial(w.now(), w.chooseReplica())
	for i, old := range p.users {
		u := &User{world: w, process: p, conn: c.Handle(i), Client: p.id, Index: i, Life: p.life, done: old.done}
		p.users[i] = u
		if !u.done {
			go u.run()
			synctest.Wait()
		}
	}
}

func (w *World) chooseReplica() int {
	if w.calm {
		return 0
	}
	return w.choose(w.replicas, LabelReplica)
}

// Submit implements [fakezk.Network]; it runs on recipes' goroutines.
func (w *World) Submit(call *fakezk.Call) {
	w.mu.Lock()
	w.submitted = append(w.submitted, call)
	w.mu.Unlock()
	w.wake()
}

func (w *World) wake() {
	select {
	case w.kick <- struct{}{}:
	default:
	}
}

// intake takes what the goroutines that just ran have handed in, in an order that does not
// depend on how the Go scheduler ran them.
func (w *World) intake() {
	if len(w.notes) > 0 {
		w.takeNotes()
	}
	for len(w.submitted) > 0 {
		calls := w.submitted
		w.submitted = nil
		if len(calls) > 1 {
			slices.SortStableFunc(calls, compareCalls)
		}
		for _, call := range calls {
			w.accept(call)
		}
	}
	if len(w.notes) > 0 {
		w.takeNotes()
	}
}

func (w *World) accept(call *fakezk.Call) {
	p := w.procs[call.Client().GUIDSeed&0xff-1]
	if p.client != call.Client() {
		return // of a process that has died since
	}
	if op := p.users[call.User].op; op != nil {
		call.Tag = op.Number
	}
	call.Client().Accept(call)
}

func compareCalls(a, b *fakezk.Call) int {
	if d := int(a.Client().GUIDSeed&0xff) - int(b.Client().GUIDSeed&0xff); d != 0 {
		return d
	}
	if a.User != b.User {
		return a.User - b.User
	}
	if a.Request.Op != b.Request.Op {
		return int(a.Request.Op - b.Request.Op)
	}
	return strings.Compare(a.Request.Path, b.Request.Path)
}

// committed is the servers' report of a change.
func (w *World) committed(c fakezk.Change) {
	if c.Op == fakezk.OpCloseSession {
		w.deaths[c.Session] = w.step
	}
	if w.faults.Has(Wrap) && !w.wraps && c.Op == fakezk.OpCreate && sequenceAtEnd(c.Path) {
		w.wraps = true
		w.struck[faultIndex(Wrap)]++
	}
	if w.faults.Has(Wrap) && c.Op == fakezk.OpCreate && c.Owner == 0 {
		w.counters = append(w.counters, c.Path)
	}
	if c.Op == fakezk.OpCreate {
		w.parents[c.Path[:max(strings.LastIndexByte(c.Path, '/'), 1)]] = true
	}
	w.changes = append(w.changes, Change{c, w.step, w.actor})
}

// eventSent is the servers' report of a watch event that enters a connection: one that is held back
// has been struck by the watch fault.
func (w *World) eventSent(conn fakezk.ConnID, _ fakezk.Message) {
	for _, p := range w.procs {
		if p.held && !p.heldEvent && p.client.Connection() == conn {
			p.heldEvent = true
			w.struck[faultIndex(Watch)]++
		}
	}
}

// startCounters lets the sequence counters of znodes just created begin near their end.
func (w *World) startCounters() {
	for _, path := range w.counters {
		w.servers.SetSequence(path, w.firstNumber)
	}
	w.counters = w.counters[:0]
}

func sequenceAtEnd(path string) bool {
	return strings.HasSuffix(path, "2147483647") || strings.Contains(path[max(0, len(path)-11):], "-214748364")
}

// torture runs the episode with faults until all scripts have ended, nothing moves any more, or
// the phase has taken its steps.
func (w *World) torture() {
	for w.step < w.cfg.stepsMax {
		w.cfg.beat()
		w.intake()
		if w.finished() {
			break
		}
		if w.strike() {
			continue
		}
		w.collect()
		if len(w.actions) == 0 {
			if !w.idle(idleTorture) {
				break
			}
			continue
		}
		w.perform(w.actions[w.choose(len(w.actions), LabelNext)])
	}
	w.tortured = w.step
}

// Limits of the phases. Reaching one of the calm phase's is a verdict, not a pass.
const (
	idleTorture = 10 * time.Second // nothing moves for so long: torture is over
	stillMax    = 2 * time.Minute  // longer than any back-off of a recipe
	calmSteps   = 20000
)

// soothe is the calm phase: everything is healed, the schedule is fair, and everybody must finish.
// It returns false when somebody did not: when no operation began or ended for stillMax, although
// the workload says that something should, or when there was no end of steps.
func (w *World) soothe() bool {
	w.calm = true
	w.heal()
	w.stirred = w.elapsed
	for limit := w.step + calmSteps; w.step < limit; {
		w.cfg.beat()
		w.intake()
		if w.finished() {
			return true
		}
		w.collect()
		if len(w.actions) > 0 {
			w.perform(w.nextFair())
			continue
		}
		w.idle(stillMax)
		if w.elapsed-w.stirred >= stillMax.Milliseconds() {
			if !w.episode.Quiet(w) {
				return false
			}
			w.stirred = w.elapsed
		}
	}
	return false
}

// nextFair picks the action of the client that comes after the one that acted last.
func (w *World) nextFair() action {
	for _, a := range w.actions {
		if a.client > w.last {
			return a
		}
	}
	return w.actions[0]
}

func (w *World) heal() {
	for r := 1; r < w.replicas; r++ {
		w.servers.SetLag(r, false)
	}
	for _, p := range w.procs {
		p.held, p.paused = false, false
	}
}

func (w *World) finished() bool {
	for _, p := range w.procs {
		for _, u := range p.users {
			if !u.done {
				return false
			}
		}
	}
	return true
}

// action is one thing that can happen next.
type action struct {
	kind   actionKind
	client int // or the replica
	user   int
}

type actionKind uint8

const (
	actArrive actionKind = iota
	actDeliver
	actOutside
	actReconnect
	actRestart
	actApply
	actRelease
	actResume
)

// collect lists what can happen next in a fixed order: first what keeps the same client going.
func (w *World) collect() {
	w.actions = w.actions[:0]
	n := len(w.procs)
	for i := range n {
		p := w.procs[(max(w.last, 0)+i)%n]
		if !p.paused {
			w.collectFrom(p)
		}
	}
	for r := 1; r < w.replicas; r++ {
		if w.servers.Behind(r) > 0 {
			w.actions = append(w.actions, action{kind: actApply, client: r})
		}
	}
	for _, p := range w.procs {
		if p.held {
			w.actions = append(w.actions, action{kind: actRelease, client: p.id})
		}
		if p.paused {
			w.actions = append(w.actions, action{kind: actResume, client: p.id})
		}
	}
}

func (w *World) collectFrom(p *process) {
	add := func(kind actionKind, user int) { w.actions = append(w.actions, action{kind, p.id, user}) }
	if p.crashed {
		if w.unfinished(p) {
			add(actRestart, 0)
		}
		return
	}
	for _, call := range w.outside {
		if call.user.process == p && (call.when == nil || call.when()) {
			add(actOutside, call.user.Index)
		}
	}
	if _, connected := p.client.Connected(); !connected {
		add(actReconnect, 0)
		return
	}
	if !p.held && w.servers.Pending(p.client.Connection()) > 0 {
		add(actDeliver, 0)
	}
	if p.client.Sent() != nil {
		add(actArrive, 0)
	}
}

func (w *World) unfinished(p *process) bool {
	for _, u := range p.users {
		if !u.done {
			return true
		}
	}
	return false
}

// perform carries out one action: one step.
func (w *World) perform(a action) {
	w.step++
	w.fold(uint64(a.kind)<<32 | uint64(a.client)<<16 | uint64(a.user))
	if a.kind == actApply {
		w.applyOne(a.client)
		return
	}
	p := w.procs[a.client]
	w.last = a.client
	switch a.kind {
	case actArrive:
		w.arrive(p)
	case actDeliver:
		w.deliver(p)
	case actOutside:
		w.doOutside(p, a.user)
	case actReconnect:
		w.reconnect(p)
	case actRestart:
		w.restart(p)
	case actRelease:
		p.held = false
		w.note(p.id, "watch", "", "what was held back comes through")
	case actResume:
		p.paused = false
		w.note(p.id, "pause", "", "the process runs again")
	}
}

// arrive lets a request reach its server. The reply comes in the same step unless something is
// before it in the stream: to hold it back longer would only make the operation's interval wider.
func (w *World) arrive(p *process) {
	c := p.client
	call := w.carryOut(p)
	r := &call.Request
	w.fold(uint64(r.Op))
	w.foldString(r.Path)
	if !p.held && w.servers.Pending(c.Connection()) == 1 && c.Waiting() == 1 {
		m, _ := w.servers.First(c.Connection())
		w.foldMessage(m)
		w.noteRequest(p, call, m)
		c.Deliver()
		return
	}
	w.noteRequest(p, call, fakezk.Message{})
}

// carryOut lets the server carry out the oldest request of a client.
func (w *World) carryOut(p *process) *fakezk.Call {
	w.actor = p.client.Sent().Tag
	call := p.client.Arrive(w.now())
	w.actor = 0
	w.startCounters()
	return call
}

func (w *World) deliver(p *process) {
	m, _ := w.servers.First(p.client.Connection())
	w.foldMessage(m)
	w.noteMessage(p, m)
	if m.Reply == nil && m.Event == zk.EventNodeDeleted {
		w.countHerd(m)
	}
	p.client.Deliver()
}

// countHerd notes when one deletion wakes several operations that wait for it.
func (w *World) countHerd(m fakezk.Message) {
	for _, h := range w.herd {
		if h.Zxid == m.Zxid && h.Path == m.Path {
			return
		}
	}
	h := Herd{Step: w.step, Zxid: m.Zxid, Path: m.Path}
	for _, p := range w.procs {
		p.client.WatchedBy(m.Path, func(user int, tag int64) {
			if op := p.users[user].op; op != nil && op.Number == tag && w.queued(op) && !slices.Contains(h.Ops, op) {
				h.Ops = append(h.Ops, op)
			}
		})
	}
	w.herd = append(w.herd, h)
}

// queued tells whether a znode that the operation has created still exists. One that has lost its
// znode with its session is no waiter any more, though it may have a watch.
func (w *World) queued(op *Op) bool {
	for _, c := range w.changes {
		if c.By == op.Number && c.Op == fakezk.OpCreate && c.Owner != 0 {
			if n, ok := w.servers.Node(c.Path); ok && n.Stat.Czxid == c.Zxid {
				return true
			}
		}
	}
	return false
}

func (w *World) doOutside(p *process, user int) {
	i := slices.IndexFunc(w.outside, func(c *outsideCall) bool { return c.user.process == p && c.user.Index == user })
	call := w.outside[i]
	w.outside = slices.Delete(w.outside, i, i+1)
	result := call.do()
	w.foldString(result)
	if w.trace != nil {
		w.note(p.id, call.what, "", result)
	}
	call.done <- true
	synctest.Wait()
}

func (w *World) reconnect(p *process) {
	replica := w.chooseReplica()
	session := p.client.Session()
	err := p.client.Dial(w.now(), replica)
	w.fold(uint64(p.client.Session()))
	if w.trace != nil {
		w.note(p.id, "connect", "", connectResult(p.client, replica, session, err))
	}
}

func connectResult(c *fakezk.Client, replica int, session int64, err error) string {
	switch {
	case err != nil:
		return fmt.Sprintf("server %d is behind this client and refuses it", replica)
	case c.Session() == 0:
		return fmt.Sprintf("learns that session 0x%x has expired", session)
	case session == 0:
		return fmt.Sprintf("new session 0x%x at server %d", c.Session(), replica)
	}
	return fmt.Sprintf("session 0x%x goes on at server %d", session, replica)
}

func (w *World) restart(p *process) {
	p.crashed = false
	p.life++
	w.note(p.id, "crash", "", "the process starts again")
	w.launch(p)
}

func (w *World) applyOne(replica int) {
	w.servers.Apply(replica)
	w.note(-1, "lag", "", fmt.Sprintf("server %d applies one more transaction, %d to go", replica, w.servers.Behind(replica)))
}

// idle lets time move until somebody does something, and returns false if nobody does within limit.
func (w *World) idle(limit time.Duration) bool {
	begin, before := w.elapsed, len(w.changes)
	for w.elapsed-begin < limit.Milliseconds() {
		d := limit.Milliseconds() - (w.elapsed - begin)
		if deadline, ok := w.servers.Deadline(); ok {
			d = min(d, max(deadline-w.now(), 1))
		}
		kicked := w.sleep(d)
		if kicked || len(w.changes) > before || w.moved() {
			w.step++
			w.fold(uint64(w.elapsed))
			w.note(-1, "time", "", fmt.Sprintf("+%v until somebody stirs", time.Duration(w.elapsed-begin)*time.Millisecond))
			return true
		}
	}
	return false
}

// moved tells whether a goroutine has done something that does not show as a request.
func (w *World) moved() bool { return len(w.notes) > 0 || w.finished() }

// sleep lets up to d milliseconds pass, less if somebody does something before.
func (w *World) sleep(d int64) (kicked bool) {
	select {
	case <-w.kick:
	default:
	}
	timer := time.NewTimer(time.Duration(d) * time.Millisecond)
	select {
	case <-w.kick:
		kicked = true
		timer.Stop()
	case <-timer.C:
	}
	synctest.Wait()
	select {
	case <-w.kick: // by somebody whose timer ran out at the same instant
		kicked = true
	default:
	}
	w.elapsed = time.Since(w.start).Milliseconds()
	w.pass(d)
	return kicked
}

// pass is what the passing of time means to sessions: connected clients ping, so theirs stay;
// a client to whom nothing comes gives its connection up after two thirds of the timeout.
func (w *World) pass(d int64) {
	for _, p := range w.procs {
		if _, connected := p.client.Connected(); !connected || p.crashed || p.paused {
			continue
		}
		if p.held && d >= sessionTimeout*2/3 {
			p.client.Break(zk.ErrConnectionClosed)
			p.held = false
			continue
		}
		w.servers.Touch(w.now(), p.client.Session())
	}
	w.servers.Tick(w.now())
}

// expireDead lets the sessions of processes that will not come back run out.
func (w *World) expireDead() {
	for range 4 {
		w.sleep(sessionTimeout)
		w.intake()
		for w.collect(); len(w.actions) > 0 && w.step < w.cfg.stepsMax+calmSteps; w.collect() {
			w.perform(w.nextFair())
			w.intake()
		}
	}
}

// end stops everything that still runs. Politely it closes the clients, after which recipes must
// end by themselves; else it kills them.
func (w *World) end(politely bool) {
	for _, p := range w.procs {
		for _, u := range p.users {
			u.dead.Store(!politely)
			if op := u.op; op != nil {
				op.cancel()
			}
		}
		for _, call := range w.outside {
			call.done <- false
		}
		w.outside = nil
		if politely {
			p.client.Finish()
		} else {
			p.client.Kill()
		}
	}
	synctest.Wait()
	for range 3 {
		w.drain(politely)
		time.Sleep(time.Minute)
		synctest.Wait()
	}
	w.drain(politely)
}

func (w *World) drain(politely bool) {
	for range 1000 {
		calls := w.submitted
		w.submitted = nil
		if len(calls) == 0 {
			return
		}
		for _, call := range calls {
			call.Client().Accept(call)
		}
		synctest.Wait()
	}
}
