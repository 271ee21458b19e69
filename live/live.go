package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/zktorture/zktorture/fakezk/wire/strike"
	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/linearizability/histories"
	"github.com/zktorture/zktorture/live/worker"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// Session is one client's session with real servers.
type Session struct {
	Conn  recipes.Conn
	Close func()
	// ExpiriesSeen counts the session's ends that the client has been told of; Broken counts how often it
	// lost its connection.
	ExpiriesSeen, Broken func() int
	// Link is where faults strike; nil if none can.
	Link Link
	// Process is the client's, if it has one of its own; else nil.
	Process Process
}

// Config says how to run a workload on real servers. Each round is an episode like those of the
// simulator, on its own object. Several rounds run at the same time.
type Config struct {
	Open      func(ctx context.Context) (*Session, error) // a client of this process; nil if there are none
	Start     func(ctx context.Context) (*Session, error) // a client in a process of its own; nil if there are none
	Admin     func(ctx context.Context) (*Session, error) // creates and removes objects; default Open
	Root      string                                      // parent of all objects, needed; must not exist
	Seed      uint64
	Until     string        // a property: the run ends when it is seen to be broken
	Rounds    int           // 0: until Duration is over
	Duration  time.Duration // 0: 30 s, if Rounds is 0 too
	Clients   int           // at most, a round, 1 to 16; default 3
	Ops       int           // at most, a user, 1 to 100; default 4
	Workers   int           // rounds under way at the same time; default 8 with clients of this process …
	Processes int           // … and 2 with clients in processes of their own
	// Patience is how long an operation waits, without faults, before it counts as waiting for ever; longer on a slow
	// machine. Default 10 s.
	Patience time.Duration
	Away     time.Duration // how long servers may be away before the run ends; default: Patience twice
	History  io.Writer     // gets each round's history before it is judged
	// Faults may strike clients whose sessions have a [Link], and Servers. They are drawn from the seed.
	Faults   strike.Set
	Servers  Servers       // that may be hurt; nil if they must not
	Nodes    int           // how many they are
	Strikes  io.Writer     // gets a [Strike] or a [ServerStrike] a line for each fault that was to happen
	Timeout  time.Duration // of sessions, by which durations of faults are drawn; default 2 s
	Progress func(sim.Progress)
}

func (cfg Config) withDefaults() Config {
	if cfg.Rounds == 0 && cfg.Duration == 0 {
		cfg.Duration = 30 * time.Second
	}
	if cfg.Admin == nil {
		cfg.Admin = cfg.Open
	}
	cfg.Clients, cfg.Ops = cmp.Or(cfg.Clients, 3), cmp.Or(cfg.Ops, 4)
	cfg.Workers, cfg.Processes = cmp.Or(cfg.Workers, 8), cmp.Or(cfg.Processes, 2)
	if cfg.Open == nil {
		cfg.Workers = 0
	}
	if cfg.Start == nil {
		cfg.Processes = 0
	}
	cfg.Patience, cfg.Timeout = cmp.Or(cfg.Patience, 10*time.Second), cmp.Or(cfg.Timeout, 2*time.Second)
	cfg.Away = cmp.Or(cfg.Away, 2*cfg.Patience)
	cfg.History, cfg.Strikes = cmp.Or(cfg.History, io.Discard), cmp.Or(cfg.Strikes, io.Discard)
	return cfg
}

// Run runs rounds of the workload on real servers under the configured faults and sums up like [sim.Run]. Each round
// ends in a liveness phase, in which every operation has to finish. The run ends within seconds of ctx, whatever the
// state of the servers. An error means that the run could not start or finish: [ErrRootLost], servers away for good,
// znodes that could not be removed. The result is what was found until then.
func Run(ctx context.Context, w *workload.Workload, config Config) (sim.Result, error) {
	cfg := config.withDefaults()
	if err := cfg.check(); err != nil {
		return sim.Result{}, err
	}
	if w.Terms().Door == world.ByDialer {
		return sim.Result{}, fmt.Errorf("live: %s (%s) connects by itself, so that nothing can be done to its "+
			"connections: give it a *zk.Conn", w.Name(), w.Recipe())
	}
	return onRoot(ctx, w, cfg)
}

// check returns an error for what cannot be done.
func (cfg Config) check() error {
	hurting := cfg.Faults&ServerFaults != 0
	switch {
	case cfg.Open == nil && cfg.Start == nil || cfg.Admin == nil:
		return fmt.Errorf("live: Config needs Open or Start, and Admin or Open, to open sessions")
	case cfg.Clients < 1 || cfg.Clients > clientsMax || cfg.Ops < 1 || cfg.Ops > opsMax:
		return fmt.Errorf("live: %d clients with %d operations: 1 to %d and 1 to %d are possible",
			cfg.Clients, cfg.Ops, clientsMax, opsMax)
	case cfg.Rounds < 0 || cfg.Duration < 0 || cfg.Patience < 0 || cfg.Away < 0 || cfg.Workers < 0 || cfg.Processes < 0 || cfg.Timeout < 0:
		return fmt.Errorf("live: rounds, workers, processes and times must not be negative")
	case hurting && cfg.Servers == nil:
		return fmt.Errorf("live: faults of servers are drawn, but Config.Servers is not set")
	}
	return checkFaults(cfg.Faults)
}

// opsMax is how many operations a user may have.
const opsMax = 100

// onRoot claims the root, runs, and removes it.
func onRoot(ctx context.Context, w *workload.Workload, cfg Config) (sim.Result, error) {
	session, err := cfg.Admin(ctx)
	if err != nil {
		return sim.Result{}, err
	}
	defer closeAll([]*Session{session})
	r, err := newLiveRun(w, cfg)
	if err != nil {
		return sim.Result{}, err
	}
	running, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r.fail = cancel
	admin := *session
	admin.Conn = &patient{Conn: session.Conn, ctx: running, limit: cfg.Away}
	r.admin = &admin
	if r.claim, err = claimRoot(admin.Conn, cfg.Root); err != nil {
		return sim.Result{}, err
	}
	err = cmp.Or(r.run(running), failure(ctx, running))
	err = errors.Join(err, r.release(ctx, session.Conn, err))
	return r.finish(ctx), err
}

// failure is why a run has ended itself; nil if it has not, or was called off before.
func failure(ctx, running context.Context) error {
	if cause := context.Cause(running); cause != context.Cause(ctx) {
		return cause
	}
	return nil
}

// Bounds of the removal of a root, and of that when the run was called off, which is to take no longer than a moment.
const (
	releaseMax     = time.Minute
	releaseHurried = 1500 * time.Millisecond
)

// release removes the root, unless it is lost, or the servers are away: err is why the run has ended.
func (r *liveRun) release(ctx context.Context, conn recipes.Conn, err error) error {
	if errors.Is(err, ErrRootLost) {
		return nil
	}
	all, limit := releaseMax, min(r.cfg.Away, releaseMax)
	if errors.Is(err, errAway) {
		all = releaseHurried
	}
	releasing, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), all, errAway)
	defer cancel()
	hurry := context.AfterFunc(ctx, func() { time.AfterFunc(releaseHurried, cancel) })
	defer hurry()
	return r.claim.release(&patient{Conn: conn, ctx: releasing, limit: limit})
}

// newLiveRun returns a run of which nothing has happened yet.
func newLiveRun(w *workload.Workload, cfg Config) (r *liveRun, err error) {
	r = &liveRun{workload: w, cfg: cfg, begin: time.Now(), found: map[string]int{},
		rounds: map[*round]bool{}, numbers: map[bool]int64{}}
	r.nemesis.since, r.nemesis.begun = r.begin, make(chan struct{}, 1)
	r.result = sim.Result{
		Workload: w.Name(), Recipe: w.Recipe(), Strategy: "random", Seed: cfg.Seed,
		Verdict: sim.VerdictOK, Struck: map[string]int{}, Waived: w.Terms().Waived,
	}
	if cfg.Start != nil {
		r.ownProcess, err = worker.InProcesses(w)
	}
	return r, err
}

// liveRun is a Run under way.
type liveRun struct {
	workload   *workload.Workload
	cfg        Config
	admin      *Session // with a [patient] connection
	claim      *ownRoot
	pulse      pulse
	fail       context.CancelCauseFunc // ends the run
	begin      time.Time
	ownProcess *workload.Workload // the same for clients in processes of their own
	last       atomic.Int64       // the last stamp given out

	nemesis nemesis

	mu      sync.Mutex
	numbers map[bool]int64  // the next rounds', by whether their clients have processes of their own
	rounds  map[*round]bool // with users at work
	result  sim.Result
	found   map[string]int // index into result.Violations by property
	broken  int            // rounds in which a property broke
	worked  bool           // an operation has succeeded
	enough  func()         // lets no more rounds begin
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
	timed, enough := context.WithCancel(ctx)
	defer enough()
	r.enough = enough
	if r.cfg.Duration > 0 {
		var done context.CancelFunc
		timed, done = context.WithTimeout(timed, r.cfg.Duration)
		defer done()
	}
	beating, still := context.WithCancel(ctx)
	defer still()
	var workers, others errgroup.Group
	try := func(f func() error) func() error {
		return func() error {
			err := f()
			if err != nil {
				cancel()
			}
			return err
		}
	}
	others.Go(try(func() error { return r.runNemesis(ctx, timed, r.serverStrikes()) }))
	others.Go(try(func() error { return r.takePulse(beating) }))
	others.Go(try(func() error { return r.watchServers(beating) }))
	for i := range r.cfg.Workers + r.cfg.Processes {
		workers.Go(try(func() error { return r.worker(ctx, timed, i >= r.cfg.Workers) }))
	}
	err := workers.Wait()
	enough()
	still()
	return cmp.Or(err, others.Wait())
}

// ownProcessEvery is how often a round's clients have processes of their own, if others have not.
const ownProcessEvery = 4

// mixed reports whether some rounds' clients have processes of their own, and others' have not.
func (cfg Config) mixed() bool { return cfg.Workers > 0 && cfg.Processes > 0 }

// ownProcess reports whether the clients of a round have processes of their own.
func (cfg Config) ownProcess(n int64) bool {
	if cfg.mixed() {
		return n%ownProcessEvery == ownProcessEvery-1
	}
	return cfg.Processes > 0
}

// number returns the next round's number, by which everything in it is drawn; false if there are no more.
func (r *liveRun) number(ownProcess bool) (n int64, more bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n = r.numbers[ownProcess]
	r.numbers[ownProcess]++
	switch {
	case r.cfg.mixed() && ownProcess:
		n = n*ownProcessEvery + ownProcessEvery - 1
	case r.cfg.mixed():
		n += n / (ownProcessEvery - 1)
	}
	return n, r.cfg.Rounds == 0 || n < int64(r.cfg.Rounds)
}

// worker runs rounds one after the other, with sessions of its own that live from round to round.
func (r *liveRun) worker(ctx, timed context.Context, ownProcess bool) (err error) {
	var sessions []*Session
	defer func() { closeAll(sessions) }()
	for timed.Err() == nil {
		n, more := r.number(ownProcess)
		if !more {
			return nil
		}
		if sessions == nil {
			if sessions, err = r.openAll(ctx, ownProcess); err != nil {
				return interrupted(ctx, err)
			}
		}
		stuck, err := r.round(ctx, n, sessions)
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

// openAll opens the sessions of a worker. While servers are away it tries again.
func (r *liveRun) openAll(ctx context.Context, ownProcess bool) (sessions []*Session, err error) {
	open := r.cfg.Open
	if ownProcess {
		open = r.cfg.Start
	}
	for range r.cfg.Clients {
		s, err := r.openOne(ctx, open)
		if err != nil {
			closeAll(sessions)
			return nil, err
		}
		sessions = append(sessions, s)
	}
	return sessions, nil
}

// opensMax is how often a session is tried to be opened.
const opensMax = 10

func (r *liveRun) openOne(ctx context.Context, open func(context.Context) (*Session, error)) (s *Session, err error) {
	for range opensMax {
		began := time.Now()
		err = r.whileHealthy(func() (err error) {
			s, err = open(ctx)
			return err
		})
		if err == nil || ctx.Err() != nil || r.pulse.since(began, time.Now()).steady {
			break
		}
	}
	return s, err
}

// closeAll closes sessions concurrently. It does not wait for longer than a moment for those that take it: their
// servers may be away.
func closeAll(sessions []*Session) {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		var all sync.WaitGroup
		for _, s := range sessions {
			all.Go(s.Close)
		}
		all.Wait()
	}()
	select {
	case <-closed:
	case <-time.After(closeMax):
	}
}

// closeMax is how long the end of sessions is waited for.
const closeMax = time.Second

// round runs one episode on an object of its own. stuck tells that somebody is still waiting, so
// that the sessions cannot be used again.
func (r *liveRun) round(ctx context.Context, n int64, sessions []*Session) (stuck bool, err error) {
	l := r.draw(n)
	l.ctx, l.sessions = ctx, sessions
	if err := r.whileHealthy(l.prepare); err != nil {
		return false, err
	}
	l.arm()
	r.playing(l, true)
	l.start()
	l.finish()
	r.playing(l, false)
	unrest := l.recover() // from here on no server is hurt
	defer r.nemesis.healthy.RUnlock()
	if err := r.recordStrikes(l.struckSoFar()); err != nil || ctx.Err() != nil {
		return true, err // interrupted: what was not finished cannot be judged
	}
	if unrest != nil {
		r.unjudged(int(n), unrest.Error())
		return true, nil // with new sessions
	}
	v := l.view()
	switch err := r.claim.hold(r.admin.Conn); {
	case ctx.Err() != nil:
		return true, nil
	case err != nil:
		return true, err
	}
	history := l.episode.History(v)
	if err := r.recordHistory(l, history); err != nil {
		return false, err
	}
	return len(v.Waiting) > 0, r.judge(int(n), l, v, r.granted(history))
}

// granted adds what was granted in a round to that of the others, and returns it.
func (r *liveRun) granted(h linearizability.History) (of worker.Grants) {
	for _, o := range h {
		of.Add(o)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.result.Grants += int64(of.All)
	r.result.GrantsJudged += int64(of.Judged)
	return of
}

// judge judges a round, and removes what is left of one that has ended.
func (r *liveRun) judge(n int, l *round, v *workload.View, of worker.Grants) (err error) {
	j := l.judge(v)
	j.Unknown = cmp.Or(j.Unknown, of.Unknown())
	if len(v.Waiting) == 0 {
		if len(j.Violations) == 0 {
			l.addLeftovers(v, &j)
		}
		err = r.claim.remove(r.admin.Conn, l.object)
	}
	j.Violations = r.workload.Promised(j.Violations)
	r.record(n, v, j, lostBy(l.sessions) > l.broken && !l.struck())
	return err
}

// recordHistory writes a round's history down.
func (r *liveRun) recordHistory(l *round, h linearizability.History) error {
	for i := range h {
		h[i].Object = l.object
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := histories.WritePart(r.cfg.History, h); err != nil {
		return fmt.Errorf("live: the history cannot be written: %w", err)
	}
	return nil
}

// draw draws a round from its number: what its clients do, whatever may strike, and what is to strike them.
func (r *liveRun) draw(n int64) *round {
	object := fmt.Sprintf("%s/r%d", r.cfg.Root, n)
	w, faults := r.workload, r.cfg.Faults&ClientFaults
	if r.cfg.ownProcess(n) {
		w, faults = r.ownProcess, r.cfg.Faults
	}
	plan := world.NewPlan(sim.NewRandomSource(r.cfg.Seed, uint64(n)), r.cfg.Clients, 2, r.cfg.Ops, mayMeet(), object)
	l := r.newRound(w, plan, object)
	l.faults = drawFaults(r.cfg.Seed, int(n), len(l.users()), faults, r.cfg.Timeout)
	return l
}

// playing notes that a round's users begin, or have come to an end.
func (r *liveRun) playing(l *round, begin bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if begin {
		r.rounds[l] = true
	} else {
		delete(r.rounds, l)
	}
}

// unjudged notes a round that came to nothing.
func (r *liveRun) unjudged(n int, why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.result.Episodes++
	r.unknown(n, why)
}

func (r *liveRun) unknown(n int, why string) {
	r.result.Undecided++
	r.result.Reason = fmt.Sprintf("round %d could not be judged: %s", n, why)
}

// record counts a round; lost says that clients lost connections though nothing struck.
func (r *liveRun) record(n int, v *workload.View, j workload.Judgement, lost bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if lost {
		r.result.Lost++
	}
	r.result.Episodes++
	r.result.Operations += int64(len(v.Ops))
	r.worked = r.worked || slices.ContainsFunc(v.Ops, func(op *world.Op) bool { return op.Outcome == world.OK })
	r.result.Refused += int64(j.Refused)
	r.result.AddNotJudged(j.NotJudged...)
	if j.Unknown != "" && len(j.Violations) == 0 {
		r.unknown(n, j.Unknown)
	}
	if len(j.Violations) > 0 {
		r.broken++
	}
	for _, found := range j.Violations {
		if found.Property == r.cfg.Until {
			r.enough()
		}
		if i, ok := r.found[found.Property]; ok {
			r.result.Violations[i].Times++
			continue
		}
		r.found[found.Property] = len(r.result.Violations)
		r.result.Violations = append(r.result.Violations, sim.Found{Violation: found, Episode: n, Times: 1, History: j.History})
	}
	r.tell(0)
}

func (r *liveRun) finish(ctx context.Context) sim.Result {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.result
	sim.RootFirst(r.workload, out.Violations)
	out.Elapsed = time.Since(r.begin)
	out.Interrupted = ctx.Err() != nil
	switch {
	case len(out.Violations) > 0:
		out.Verdict = sim.VerdictViolation
	case out.Undecided > 0:
		out.Verdict = sim.VerdictUnknown
	case out.Episodes == 0:
		out.Verdict, out.Reason = sim.VerdictUnknown, "no round was finished"
	case !r.worked:
		out.Verdict = sim.VerdictUnknown
		out.Reason = fmt.Sprintf("none of the %d operations has succeeded, so that nothing was tested: "+
			"does the recipe work here at all?", out.Operations)
	}
	return out
}
