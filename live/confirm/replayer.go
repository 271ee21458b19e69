package confirm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk/wire"
	"github.com/zktorture/zktorture/live"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// replayer makes the steps of a trace happen, one after the other.
type replayer struct {
	ctx      context.Context // of the round
	round    *live.Round
	workload *workload.Workload
	cfg      Config
	trace    []world.Step
	deaths   map[int][]int64 // by step: the sessions that end in it
	faulty   bool            // faults strike
	tortured int             // the last step with faults; every client is scheduled after it
	stirred  time.Duration   // when, in the trace, an operation began or ended last
	missed   bool            // an event of a session's end has not come before its connection's

	incarnations []*incarnation         // of each client, the present one
	former       []*incarnation         // that have ended
	owners       map[int64]*incarnation // by session of the simulation
	held                                // followers
	recovered    bool                   // no server lags any more
	expected     []int                  // lines of requests that are pending by now

	vain map[int64]Ending // of sessions of the simulation that were begun in vain

	mu       sync.Mutex
	requests []*pendingRequest // not granted yet
	lying    []*lying          // what lies in its channel, or will when it has come
	marks    map[opMark]int    // how often each has happened …
	due      map[opMark]int    // … and how often in the trace so far
	changed  chan struct{}     // closed and replaced by whatever is waited for
	released bool              // everything is granted
	now      time.Duration     // when, in the trace, the last line begun is
}

func newReplayer(ctx context.Context, l *live.Round, w *workload.Workload, cfg Config, replayed *sim.Replayed) *replayer {
	r := &replayer{
		ctx: ctx, round: l, workload: w, cfg: cfg, held: held{Followers: cfg.Followers}, trace: replayed.Trace,
		faulty: replayed.Record.Struck != 0, tortured: replayed.Record.Tortured, deaths: map[int][]int64{},
		owners: map[int64]*incarnation{}, vain: map[int64]Ending{}, changed: make(chan struct{}), marks: map[opMark]int{}, due: map[opMark]int{},
	}
	for _, c := range replayed.Record.Changes {
		if c.Op == wire.OpCloseSession {
			r.deaths[c.Step] = append(r.deaths[c.Step], c.Session)
		}
	}
	return r
}

// livenessMax bounds, in patiences, how long a trace is followed in the liveness phase: a recipe may poll for ever,
// which takes minutes of simulated time. Requests due much later are not waited for either.
const livenessMax = 3

// leap is how much time passes in a line in which nothing else does.
func (r *replayer) leap(i int) time.Duration {
	if s := r.trace[i]; i > 0 && (s.Kind == world.KindTime || s.Fault == world.Time) {
		return s.At - r.trace[i-1].At
	}
	return 0
}

// stillness is how long nothing happens in the simulation before operations that may wait for ever are cancelled.
const stillness = 2 * time.Minute

// quiet cancels operations that may wait for ever, if the trace does before its next line.
func (r *replayer) quiet(ctx context.Context, next world.Step) error {
	if next.At-r.stirred < stillness {
		return nil
	}
	r.stirred = next.At
	r.moment(ctx) // an operation does not report that it waits
	if !r.round.EndWaits() {
		return errors.New("no call is waiting that could give up")
	}
	return nil
}

// moment gives goroutines of a recipe time for what they do without a word.
func (r *replayer) moment(ctx context.Context) {
	moment, cancel := context.WithTimeout(ctx, r.cfg.Patience/10)
	defer cancel()
	<-moment.Done()
}

// follow makes one step after the other happen; it returns the first at which something else came.
func (r *replayer) follow(ctx context.Context) (number int, difference string) {
	enough := time.Now().Add(livenessMax * r.cfg.Patience)
	for i, s := range r.trace {
		leap := r.leap(i)
		if s.N > r.tortured && (leap > r.cfg.Patience || time.Now().After(enough)) {
			break
		}
		turn, cancel := context.WithCancel(ctx)
		go endLate(turn, cancel, r.cfg.Patience+leap, r.cfg.own)
		err := r.line(turn, i)
		cancel()
		if err != nil {
			return s.N, fmt.Sprintf("%s: %v", describe(s), err)
		}
	}
	return 0, ""
}

// timesSlowest is how many times as long as the slowest round of the run's own requests a step may take.
const timesSlowest = 50

// endLate ends a step that has had its time: the least, or more if any server answers the run's own requests slowly
// meanwhile, but no longer than the servers may be away.
func endLate(turn context.Context, end func(), least time.Duration, own []recipes.Conn) {
	began, every, slowest := time.Now(), least/10, time.Duration(0)
	for time.Since(began) < max(least, min(timesSlowest*slowest, awayMax)) {
		due := time.Now().Add(every)
		select {
		case <-turn.Done():
			return
		case <-time.After(every):
			for _, conn := range own {
				conn.Exists("/") // also an error says how slow its server is
			}
			slowest = max(slowest, time.Since(due))
		}
	}
	end()
}

// pass lets time pass for users who wait for that.
func (r *replayer) pass(now time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now = now
	r.stir()
}

// line makes what a line of the trace says happen, and after a step's last one waits for what comes of it.
func (r *replayer) line(ctx context.Context, i int) error {
	s := r.trace[i]
	r.pass(s.At)
	if s.N > r.tortured {
		if err := r.recover(ctx); err != nil {
			return err
		}
	}
	if i == 0 || r.trace[i-1].N != s.N {
		r.layBy(i)
	}
	if err := r.turn(ctx, i); err != nil {
		return err
	}
	if i+1 < len(r.trace) {
		next := r.trace[i+1]
		if err := r.quiet(ctx, next); err != nil || next.N == s.N {
			return err
		}
	}
	if err := r.awaitExpected(ctx, s.N); err != nil {
		return err
	}
	return r.followAll(ctx)
}

// turn makes what a line of the trace says happen.
func (r *replayer) turn(ctx context.Context, i int) error {
	s := r.trace[i]
	r.expected = slices.DeleteFunc(r.expected, func(k int) bool { return k == i })
	if s.Client < 0 {
		return r.world(ctx, s)
	}
	p := r.incarnations[s.Client]
	if r.owners[s.Session] == nil {
		r.owners[s.Session] = p
	}
	switch s.Kind {
	case world.KindExchange, world.KindRequest:
		return r.request(ctx, p, s)
	case world.KindReply:
		return r.reply(ctx, p, s)
	case world.KindCall, world.KindReturn:
		r.stirred = s.At
		return r.awaitMark(ctx, opMark{s.Client, s.User, s.Kind})
	case world.KindWatch:
		return p.event(ctx, s)
	case world.KindConnect:
		return p.connect(ctx, s)
	case world.KindClosed:
		return p.disconnect(ctx, p.stepper.Closed)
	case world.KindShared:
		_, err := r.grant(ctx, s)
		return err
	case world.KindFault:
		return r.fault(ctx, p, i)
	case world.KindHealed:
		switch s.Fault {
		case world.Crash:
			return r.restart(ctx, p, i)
		case world.Stall:
			return r.handOver(ctx, s)
		}
	}
	return nil
}

// world makes a step happen that is no client's.
func (r *replayer) world(ctx context.Context, s world.Step) error {
	switch {
	case falls(s):
		return r.fall(ctx, s)
	case s.Fault == world.Lag:
		return r.apply(ctx, s)
	case s.Fault == world.Reap:
		r.round.Reap()
	}
	return nil
}

// awaitExpected waits until all clients have come as far as in the simulation after a step: until all requests that
// were pending there are pending. Sessions that end in the step are ended.
func (r *replayer) awaitExpected(ctx context.Context, number int) error {
	for _, session := range r.deaths[number] {
		if err := r.endVain(ctx, session); err != nil {
			return err
		}
		if p := r.owners[session]; p != nil && !p.over {
			if err := p.expire(ctx); err != nil {
				return err
			}
		}
	}
	for i, s := range r.trace {
		if s.N > number && s.Sent == number && s.Op != 0 {
			r.expected = append(r.expected, i)
		}
	}
	missing := -1
	if r.await(ctx, func() bool { missing = r.missing(); return missing < 0 }) {
		return nil
	}
	return fmt.Errorf("the client %s, and not for %s", r.wants(r.trace[missing].Client), describe(r.trace[missing]))
}

// missing returns the line of an expected request that is not pending, -1 if there is none. The replayer is locked.
func (r *replayer) missing() int {
	left := slices.Clone(r.requests)
	for _, i := range r.expected {
		k := slices.IndexFunc(left, func(w *pendingRequest) bool { return w.fits(r.trace[i]) })
		if k < 0 {
			return i
		}
		left = slices.Delete(left, k, k+1)
	}
	return -1
}

// await waits until something is so, which is asked with the replayer locked; false if the context ends before.
func (r *replayer) await(ctx context.Context, so func() bool) bool {
	for {
		r.mu.Lock()
		done, changed := so(), r.changed
		r.mu.Unlock()
		if done {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// stir wakes all waiting goroutines after a change. The replayer is locked.
func (r *replayer) stir() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// opMark is the begin or the end of an operation of a user.
type opMark struct {
	client, user int
	kind         world.Kind
}

// mark notes that a user has begun or ended an operation.
func (r *replayer) mark(m opMark) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.marks[m]++
	r.stir()
}

// awaitMark waits until a user has come as far as in the trace.
func (r *replayer) awaitMark(ctx context.Context, m opMark) error {
	r.due[m]++
	if !r.await(ctx, func() bool { return r.marks[m] >= r.due[m] }) {
		return fmt.Errorf("the user has not reached that step: the client %s", r.wants(m.client))
	}
	return nil
}

// send grants the request of a step. The request by which a client library re-arms its watches needs no grant.
func (r *replayer) send(ctx context.Context, p *incarnation, s world.Step) (err error) {
	var w *pendingRequest
	if s.Sent >= 0 {
		w, err = r.grant(ctx, s)
	}
	p.sent = append(p.sent, w)
	return err
}

// request lets the request of a step through, if it is that, and the reply if it comes in the same step.
func (r *replayer) request(ctx context.Context, p *incarnation, s world.Step) error {
	if err := r.send(ctx, p, s); err != nil {
		return err
	}
	if p.over {
		return p.asksInVain(ctx) // the server has closed the connection
	}
	if err := r.passRequest(ctx, p); err != nil || s.Kind == world.KindRequest {
		return err
	}
	return r.reply(ctx, p, s)
}

// reply lets the reply of a step through, which has to be an error if and only if it was one there, and waits until its
// request's caller has it: it would be lost if the connection broke next.
func (r *replayer) reply(ctx context.Context, p *incarnation, s world.Step) error {
	code, err := p.stepper.PassReply(ctx)
	if err != nil {
		return err
	}
	if len(p.sent) == 0 {
		return errors.New("the client has sent nothing that this could be the reply to")
	}
	w := p.sent[0]
	p.sent = p.sent[1:]
	several := w != nil && w.op == "multi" // whose errors are not in the head of the reply
	if !several && s.Failed() != (code != 0) {
		return fmt.Errorf("the reply has the error %d, and not %s", code, s.Result)
	}
	if w != nil && !r.await(ctx, func() bool { return w.returned }) {
		return errors.New("the client has not got the reply")
	}
	return nil
}

// fault makes a client's fault strike.
func (r *replayer) fault(ctx context.Context, p *incarnation, i int) error {
	switch s := r.trace[i]; s.Fault {
	case world.Loss:
		return r.lose(ctx, p, s)
	case world.Lag: // the client leaves its server
		return p.disconnect(ctx, p.stepper.Cut)
	case world.Watch: // if it is not lost it is held back, and passes when its step comes
		if s.Lost == world.LostEvent {
			return p.disconnect(ctx, p.stepper.Cut)
		}
	case world.Expiry:
		if err := p.expire(ctx); err != nil || s.Server >= 0 {
			return err
		}
		return p.disconnect(ctx, p.stepper.Cut)
	case world.Cancel:
		if !r.cancelsLate(i) {
			r.round.Cancel(s.Client, s.User)
		}
	case world.Stall:
		return r.comesLate(ctx, s)
	case world.Crash:
		return r.crash(ctx, p, i)
	}
	return nil
}

// lose breaks the connection with what is lost on it, or has requests fail that no server can be reached for.
func (r *replayer) lose(ctx context.Context, p *incarnation, s world.Step) error {
	switch {
	case s.N == p.begun:
		return nil // it is how the client begins
	case s.Unsent:
		return r.refuse(ctx, p)
	case s.Vain != 0:
		return p.dialInVain(ctx, s)
	}
	if err := r.losing(ctx, p, s); err != nil || s.Silent {
		return err // what is silent lets nothing through until the client connects again
	}
	return p.disconnect(ctx, p.stepper.Cut)
}

// losing lets the request of a fault come as far as it comes.
func (r *replayer) losing(ctx context.Context, p *incarnation, s world.Step) error {
	if s.Lost == "" {
		return nil
	}
	if err := r.send(ctx, p, s); err != nil {
		return err
	}
	if s.Lost == world.LostRequest || p.over {
		return p.asksInVain(ctx)
	}
	return r.passRequest(ctx, p)
}

// refuse lets all requests of a client that were not sent yet fail, as go-zookeeper does when it has tried all servers
// in vain.
func (r *replayer) refuse(ctx context.Context, p *incarnation) error {
	if !r.await(ctx, func() bool { return slices.ContainsFunc(r.requests, p.asks) }) {
		return fmt.Errorf("the client %s", r.wants(p.client))
	}
	r.answer(p.asks, zk.ErrNoServer)
	return nil
}

// free grants all requests.
func (r *replayer) free() {
	r.freeAll()
	r.release()
	for _, p := range r.incarnations {
		p.stepper.Open()
	}
}
