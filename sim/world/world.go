// Package world is the simulated world in which one episode runs: servers, the processes of clients and their users, the
// loop that decides what happens next, faults, and the trace of what happened. [Play] runs one episode of a [Workload].
//
// Here is what a workload is written with ([Plan], [Episode], [User], [Op], [Judgement]), what its judge may ask a [World],
// and what a trace is made of ([Step], [Detail]). A [Source] decides all that could have been different. An [Observer]
// watches: strategies, coverage, the search of all executions and the shrinker are built on these two, and the world knows
// none of them. Package sim has what one runs.
package world

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/fakezk/wire"
	"github.com/zktorture/zktorture/sim/internal/bubble"
)

// World is one simulated world during one episode: servers, client processes, and the loop that decides what happens
// next. A workload sees it when it judges.
//
// Invariant: recipes' goroutines run only while the loop waits for them (synctest.Wait, or in sleep). Everything here
// belongs to the loop, except what mu guards.
type World struct {
	cfg       *Settings
	observers []Observer
	source    recorder
	tape      *bubble.Tape // nil unless in exact mode
	ending    bool         // the verdict has been reached
	gone      atomic.Bool  // nothing of it runs any more
	episode   Episode
	followed  []string // znodes that processes go on following
	door      Door

	servers  *fakezk.Ensemble
	replicas int
	lag      [3]lag // of each server; none of who leads, or thinks so
	procs    []*process
	last     int // the client that acted last

	faults      Faults       // drawn for this episode
	faultsDue   int          // how many more may strike
	firstNumber int32        // of sequential children, in an episode with Wrap …
	versions    int32        // … and the versions of the znodes that are there at first
	aimAt       func(Target) // adds to targets
	counters    []string     // znodes created whose counters have not been set to it yet
	provisioned []string     // znodes that nobody reaps

	// Time. The step is the address of everything.
	step     int
	tortured int // steps of the torture phase
	liveness bool
	start    time.Time
	alarm    *time.Timer
	elapsed  int64 // bubble time since start, ms
	offset   int64 // the servers' clock is ahead of the bubble's by this, ms
	passed   int64 // the servers' time when time was last noted to have passed
	quiet    quietTime
	outage   outage
	brief    bool // a deposed leader may notice it at any moment

	terms     Terms       // of the workload
	tellsTime bool        // see Terms
	told      atomic.Bool // a goroutine has begun to wait for a time since the last moment

	due   deed         // what is left of a turn
	fence atomic.Int64 // orders what the loop did before time passed before what timers wake

	mu        sync.Mutex       // guards what recipes' goroutines hand in:
	handed    []handed         // over the wire …
	submitted []*goclient.Call // … and in process;
	notes     []note           // operations that have begun or ended …
	taken     struct {         // memory of the last, to be filled again
		submitted []*goclient.Call
		notes     []note
	}
	ended    []*Op // … and those whose contexts are to end
	outside  []*outsideCall
	ops      []*Op
	lasting  []lasting
	panicked []Violation
	barred   []*barred
	kick     chan struct{} // tells the loop, when it sleeps, that there is something …
	asleep   atomic.Bool   // … and whether it does
	exits    []exit        // of processes by their own code …
	over     chan struct{} // … where it stays until this is closed

	// What has happened, for the judge.
	struck     [FaultCount]int
	ends       []counterEnd
	identities []identity // that were written, see [World.shared]
	livelock   *process   // that has ended the run so; nil if none has
	endless    string     // why the liveness phase was ended although operations began and ended; "" if it was not
	actor      int64      // number of the operation whose request is being carried out
	maker      *Op        // that operation, if surely its goroutine asks for an ephemeral znode

	journal
	*Memory

	dead []*goclient.Client // of processes that have died

	bubble    int                // its number, if anybody wants to know
	random    *bubble.Randomness // nil if the tape of exact mode decides
	endRandom func()

	// Over the wire:
	places  []place // at which code reaches the servers that connects by itself
	doors   []*door // of all processes, also of those that are dead
	nobodys bool    // a write was carried out of which it is not known which user wanted it
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

// Removal is the request of a client to remove an ephemeral znode of its session's.
type Removal struct {
	Path    string
	Session int64
}

// process is one client process: one session (at a time), several users.
type process struct {
	world        *World
	id           int
	clients      []client         // in the order in which they began; none before the process has
	inProcess    *goclient.Client // behind the only client, in process
	door         *door            // over the wire
	woken        int              // the user that the loop has woken, -1 if it has woken several or none; guarded by mu
	behind       uint64           // the users, by bits, that waited for mutexes then; guarded by mu
	users        []*User
	incarnation  int
	held         bool // what the servers send stays on the way …
	heldEvent    bool // … and there is a watch event in it
	paused       bool
	crashed      bool
	expiriesSeen []int // steps at which it learned that a session was gone
	crashes      []int // steps at which it died
	exits        int   // how often by its own code in the liveness phase …
	pausing      bool  // … after which it starts again later; guarded by World.mu
	deaf         []unreachable
	reads        []read // in its present life, of what is followed

	asking asking

	expiriesBefore int                           // the present client, of those in expiriesSeen
	telling        atomic.Pointer[goclient.Told] // what a stalled goroutine is being told; a timer's goroutine reads it, too
	toldLate       int                           // the step in which one was last told anything
}

func newProcess(w *World, id, users int) *process {
	p := &process{world: w, id: id, woken: -1, users: make([]*User, users)}
	for i := range p.users {
		p.users[i] = &User{Client: id, Index: i}
	}
	return p
}

type outsideCall struct {
	user *User
	what string
	do   func() string // what it has seen, which is part of the run's hash
	says string        // the same, as traces have it; "": what do returns
	when func() bool   // nil: at any time
	done chan bool     // false: the process is dead

	rests bool // until the liveness phase the user has finished
}

const (
	sessionTimeout = 4000 // ms
	tickTime       = 2000 // ms
	epoch          = 946684800000
)

func newWorld(cfg *Settings) *World {
	w := &World{
		cfg: cfg, source: recorder{source: cfg.Source}, servers: cfg.Servers,
		start: time.Now(), alarm: time.NewTimer(time.Hour), last: -1, kick: make(chan struct{}, 1), over: make(chan struct{}),
		Memory: cfg.Memory, ops: make([]*Op, 0, 16), lasting: make([]lasting, 0, 8),
	}
	w.alarm.Stop()
	w.journal = journal{world: w, trace: cfg.Trace, hash: hashStart}
	if w.Memory == nil {
		w.Memory = NewMemory()
	}
	w.aimAt = func(t Target) { w.targets = append(w.targets, t) }
	w.forget()
	w.observers = cfg.Observers
	if o, observes := cfg.Source.(Observer); observes {
		w.observers = append(slices.Clip(w.observers), o)
	}
	if w.trace != nil {
		w.record = newRecord()
	}
	return w
}

func (w *World) choose(n int, label string) int {
	if n < 2 {
		return 0
	}
	return w.source.Choose(n, label)
}

// setUp draws the episode and builds the world in which it runs.
func (w *World) setUp(workload Workload) {
	drawWorld(w)
	w.servers.OnCommit = w.committed
	w.servers.OnEvent = w.eventSent
	w.terms = workload.Terms()
	w.places = w.terms.places()
	w.door, w.tellsTime = w.terms.Door, w.terms.TellsTime && !w.terms.Door.Wired()
	plan := NewPlan(&w.source, w.cfg.Clients, 2, w.cfg.Ops, w.faults, Root0)
	w.episode, w.followed = workload.Plan(plan), plan.Follows
	number := bubble.Number()
	if w.door != InProcess || w.trace != nil {
		w.bubble = number
	}
	if w.door != InProcess || !bubble.Exact { // in exact mode the tape decides
		w.random, w.endRandom = bubble.Random(number)
	}
	makeParents(w)
	prepare(w)
	startCounters(w)
	if w.terms.Provisioned { // every server has it: it applies all of that when the first client connects
		w.servers.Walk("/", func(path string, _ fakezk.NodeInfo) { w.provisioned = append(w.provisioned, path) })
	}
	for id, users := range w.episode.Users() {
		w.procs = append(w.procs, newProcess(w, id, users))
	}
	for _, p := range w.procs {
		p.launch()
	}
}

const (
	AtMostMax  = 6    // faults can strike in an episode
	ClientsMax = 64   // an episode can have …
	OpsMax     = 1000 // … and a user can do
)

// drawWorld draws what may strike, and what servers there are.
func drawWorld(w *World) {
	w.observe(func(o Observer) { o.Chooses(w, LabelSwarm) })
	for i := range FaultCount {
		if f := Faults(1 << i); w.cfg.Faults.Has(f) && w.choose(2, LabelSwarm) == 1 {
			w.faults |= f
		}
	}
	if w.faults != 0 {
		w.faultsDue = 1 + w.choose(AtMostMax, LabelAtMost)
	}
	w.replicas = 1
	if w.faults&(Lag|Quorum|Deposed) != 0 {
		w.replicas = len(w.lag)
	}
	w.servers.Reset(fakezk.Config{
		Replicas: w.replicas, Tick: tickTime, Order: 1,
		SequenceWraps: w.faults.Has(Wrap) && w.choose(2, LabelWraps) == 0,
	})
	if w.faults.Has(Wrap) {
		drawCounters(w)
	}
	forgetLag(w)
}

// Root0 is the path below which the objects of simulated episodes live.
const Root0 = "/t"

// makeParents makes the znodes that the episode asks for, with their parents.
func makeParents(w *World) {
	made := map[string]bool{}
	for _, path := range w.episode.Parents() {
		for i := 1; i <= len(path); i++ {
			if i == len(path) || path[i] == '/' {
				makeParent(w, path[:i], made)
			}
		}
	}
}

// nobodysNumber is that of no client.
const nobodysNumber = 254

// prepare lets the episode make what it needs.
func prepare(w *World) {
	if w.terms.Prepare == nil {
		return
	}
	conn, _, _ := goclient.Over(w.servers, w.now()).Connect(sessionTimeout * time.Millisecond)
	conn.GUIDSeed = GUIDSeed(nobodysNumber, 0)
	if err := w.terms.Prepare(conn, Root0); err != nil {
		panic(fmt.Errorf("the workload's set-up failed: %w", err))
	}
	conn.Close()
}

// everybody may do everything.
var everybody = zk.WorldACL(zk.PermAll)

func makeParent(w *World, path string, made map[string]bool) {
	if !made[path] {
		made[path] = true
		w.noteTalk(Talk{Kind: TalkMakes, Path: path})
		w.servers.Admin(w.now(), &fakezk.Request{Op: wire.OpCreate, Path: path, ACL: everybody})
		if w.versions != 0 {
			w.servers.SetVersions(path, w.versions)
		}
	}
}

// launch starts a process: it opens a session, and each user's script runs until it blocks.
func (p *process) launch() {
	w := p.world
	p.reads = nil
	if w.door == InProcess {
		p.openClient()
	} else {
		p.openDoor()
	}
	how := p.begin()
	if how == beginConnected {
		for _, c := range p.clients {
			p.connect(c)
		}
	}
	for i, old := range p.users {
		u := old
		if old.world != nil {
			u = &User{Client: p.id, Index: i, done: old.done} // goroutines of its last life have the old one
		}
		u.Incarnation, u.world, u.process, u.told = p.incarnation, w, p, len(p.expiriesSeen)
		if p.users[i] = u; w.door == InProcess {
			u.conn = p.inProcess.Handle(i)
		}
		if !u.done {
			go u.run()
			p.wake(w, i)
		}
	}
	if how == BeginAlone {
		w.intake()
		for _, c := range p.clients {
			c.BreakUnsent()
		}
	}
}

// openClient gives a process that begins its client in process.
func (p *process) openClient() {
	w := p.world
	c := goclient.NewClient(w, w.heard(), sessionTimeout, w.settle)
	c.Semantics = w.terms.Client
	c.GUIDSeed, c.HoldEvents = GUIDSeed(p.id, p.incarnation), true
	c.OnExpired = func(session int64) { p.learnExpiry(w, nil, session) }
	c.OnLearned, c.OnRefused = p.seesEnd, w.usedLate
	c.OnLate = func(told goclient.Told) { p.comesLate(told) }
	if w.trace != nil {
		c.OnFail = func(call *goclient.Call, err error) { w.noteFails(p, call, err) }
	}
	c.OnFull(func(user int, event zk.Event) {
		if p.users[user].missed = event.State == zk.StateExpired; w.trace != nil {
			w.noteFull(p, event, user)
		}
	})
	c.OnWait = w.beginsToWait
	c.SettlesWoken = w.tellsTime // otherwise time passes, too
	p.inProcess, p.clients = c, []client{inProcess{c}}
	p.expiriesBefore = len(p.expiriesSeen)
}

// learnExpiry notes that a process is told that a session of its is gone. Over the wire its client is known; a user who
// goes by another one learns nothing. Nor does one whose event of that was dropped, until it looks.
func (p *process) learnExpiry(w *World, c *wireClient, session int64) {
	p.expiriesSeen = append(p.expiriesSeen, w.step)
	for _, u := range p.users {
		switch {
		case u.missed:
			u.missed = false
		case p.inProcess != nil && p.inProcess.Stalled(u.Index):
		case u.over.client != nil && u.over.client != c:
		default:
			u.learns(len(p.expiriesSeen))
		}
	}
	w.fold(uint64(session))
}

// wake settles after the loop has woken a goroutine of one user, -1 if it is not known whose. What is sent over the
// wire meanwhile is sent on that user's behalf.
func (p *process) wake(w *World, user int) {
	if p.door != nil {
		p.noteWoken(w, user)
		defer p.noteWoken(w, -1)
	}
	w.settle()
}

// noteWoken sets woken, which goroutines read that a timer has woken, too.
func (p *process) noteWoken(w *World, user int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p.woken, p.behind = user, p.behindMutexes()
}

// behindMutexes returns the users, by bits, whose scripts wait for mutexes.
func (p *process) behindMutexes() (users uint64) {
	for _, wait := range bubble.MutexWaits() {
		for i, u := range p.users {
			if u.goroutine.Load() == wait[0] {
				users |= 1 << i
			}
		}
	}
	return users
}

// runs is the user whose goroutines run: whom the loop has woken, -1 if that was nobody or several, or if somebody has
// got a mutex meanwhile. World.mu is held.
func (p *process) runs() int {
	if p.behind&^p.behindMutexes() != 0 {
		return -1
	}
	return p.woken
}

// GUIDSeed is the seed of the identities that a client takes in one of its lives, see [goclient.GUID].
func GUIDSeed(client, life int) uint32 { return uint32(life)<<8 | uint32(client+1) }

// connect lets a client dial a server.
func (p *process) connect(c client) (replica int, err error) {
	w := p.world
	if !c.Knock() {
		return 0, errNoHandshake
	}
	if !w.liveness {
		replica = w.choose(w.replicas, LabelReplica)
		p.drawLag(c, replica)
	}
	err = c.Dial(w.now(), replica)
	w.noteOwner(p, c)
	return replica, err
}

// torture runs the episode with faults until all scripts have ended, nothing moves, or StepsMax is reached.
func (w *World) torture() {
	for d := turn(w); !d.over; d = turn(w) {
		switch {
		case d.fault != 0:
			if !w.strike(d.fault) {
				w.due, w.due.left = choice(w), true
			}
		case d.Action == Idling:
			w.happens(Event{Action: Idling})
			over := !w.idle(idleTorture)
			w.due = deed{over: over, left: over}
		default:
			w.perform(d.Action)
		}
	}
	w.tortured = w.step
}

// tortureTurn is a turn of the torture phase.
func tortureTurn(w *World) deed {
	if w.step >= w.cfg.StepsMax {
		return deed{over: true}
	}
	w.observe(func(o Observer) { o.Turns(w) })
	beginTurn(w)
	w.checkpoint()
	forgetLag(w)
	letLie(w)
	if w.finished() {
		return deed{over: true}
	}
	if fault := drawStrike(w); fault != 0 {
		return deed{fault: fault}
	}
	return choice(w)
}

// choice is what happens in a turn in which no fault strikes.
func choice(w *World) deed {
	if w.liveness {
		return deed{Action: nextFair(w)}
	} else if w.Collect(); len(w.actions) == 0 {
		return deed{Action: Idling}
	}
	w.observe(func(o Observer) { o.Chooses(w, LabelNext) })
	return deed{Action: w.actions[w.choose(len(w.actions), LabelNext)]}
}

const (
	idleTorture = 10 * time.Second // nothing moves for so long: torture is over
	stillMax    = 2 * time.Minute  // longer than any back-off of a recipe

	livenessSteps = 1 << 22 // more than a recipe takes that asks every millisecond for stillMax
)

// recover is the liveness phase: faults are healed, the schedule is fair, and every script must end. It returns false
// if one did not: no operation began or ended for stillMax, although the workload says that one should, or a client is
// in a livelock.
func (w *World) recover() bool {
	w.liveness = true
	heal(w)
	goOn(w)
	noteTick(w)
	w.noteProgress()
	for d := turn(w); !d.over; d = turn(w) {
		if d.Action != Idling {
			w.perform(d.Action)
			continue
		}
		w.idle(stillMax)
		if w.elapsed-w.quiet.since >= stillMax.Milliseconds() {
			if !w.episode.MayWaitForever(w) {
				return false
			}
			w.noteProgress()
		}
	}
	return w.livelock == nil && w.endless == ""
}

// fairTurn is a turn of the liveness phase.
func fairTurn(w *World) deed {
	if w.livelock != nil {
		return deed{over: true}
	}
	if w.observe(func(o Observer) { o.Turns(w) }); w.step >= w.tortured+livenessSteps {
		w.endless = fmt.Sprintf("a script did not end within %d steps of a world without faults, although operations "+
			"began and ended: %s", livenessSteps, unended(w))
	}
	if beginTurn(w); w.endless != "" || w.finished() {
		return deed{over: true}
	}
	return choice(w)
}

// nextFair is what a client does that comes after the one that acted last, or else that one, or the first that can. In the
// liveness phase none but clients act, and no more of them are asked than have to be.
func nextFair(w *World) Action {
	n := len(w.procs)
	for i := w.last + 1; i < 2*n+max(w.last, 0); i++ {
		if w.actions = w.actions[:0]; i == n {
			i += max(w.last, 0)
		}
		if w.procs[i%n].collectFrom(); len(w.actions) > 0 {
			return w.actions[0]
		}
	}
	return Idling
}

func heal(w *World) {
	endOutage(w)
	notice(w)
	followAll(w)
	for _, p := range w.procs {
		p.held, p.paused = false, false
		for _, c := range p.clients {
			c.Heal()
		}
		p.healStalls()
	}
}

// goOn lets users go on that have waited for the liveness phase.
func goOn(w *World) {
	for _, p := range w.procs {
		for _, u := range p.users {
			u.resting = false
		}
	}
}

func (w *World) finished() bool { return !slices.ContainsFunc(w.procs, (*process).unfinished) }

// unfinished reports whether a script of the process has not ended.
func (p *process) unfinished() bool {
	return slices.ContainsFunc(p.users, func(u *User) bool { return !u.done && !u.resting })
}
