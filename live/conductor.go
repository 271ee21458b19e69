package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/sim"
)

// conductor makes the steps of a trace happen, one after the other.
type conductor struct {
	round   *liveRound
	cfg     ConfirmConfig
	trace   []sim.Step
	deaths  map[int][]int64 // by step: the sessions that end in it
	faulty  bool            // faults strike
	calm    int             // the step after which none do, and who has anything to do does it
	stirred time.Duration   // when, in the trace, an operation began or ended last
	missed  bool            // an event of a session's end has not come before the end of its connection

	lives     []*life         // of each client, the present one
	former    []*life         // that have ended
	owners    map[int64]*life // by session of the simulation
	followers []*follower     // that are held
	soothed   bool            // nobody lags any more
	expected  []int           // lines of requests that somebody has asked for by now

	mu       sync.Mutex
	wishes   []*wish        // not granted yet
	marks    map[opMark]int // how often each has happened …
	due      map[opMark]int // … and how often in the trace so far
	changed  chan struct{}  // closed and replaced by whatever is waited for
	released bool           // everything is granted
}

func newConductor(l *liveRound, cfg ConfirmConfig, replayed *sim.Replayed) *conductor {
	d := &conductor{
		round: l, cfg: cfg, trace: replayed.Trace, faulty: replayed.Record.Struck != 0, calm: replayed.Record.Tortured, deaths: map[int][]int64{},
		owners: map[int64]*life{}, changed: make(chan struct{}), marks: map[opMark]int{}, due: map[opMark]int{},
	}
	for _, c := range replayed.Record.Changes {
		if c.Op == fakezk.OpCloseSession {
			d.deaths[c.Step] = append(d.deaths[c.Step], c.Session)
		}
	}
	return d
}

// calmMax bounds, in patiences, how long a trace is followed when it has become calm: somebody may ask for ever for what
// never comes, which takes minutes in simulation and no time. Nor is anybody waited for then who asks much later.
const calmMax = 3

// leap is how much time passes in a line in which nothing else does.
func (d *conductor) leap(i int) time.Duration {
	if s := d.trace[i]; i > 0 && (s.Kind == sim.KindTime || s.Fault == sim.Time) {
		return s.At - d.trace[i-1].At
	}
	return 0
}

// stillness is how long nothing happens in the simulation before those who may wait for ever are told to give up.
const stillness = 2 * time.Minute

// quiet has those who may wait for ever give up, if they do in the trace before the line that comes next.
func (d *conductor) quiet(ctx context.Context, next sim.Step) error {
	if next.At-d.stirred < stillness {
		return nil
	}
	d.stirred = next.At
	moment, cancel := context.WithTimeout(ctx, d.cfg.Patience/10)
	defer cancel()
	d.await(moment, func() bool { return false }) // nobody says that it waits
	if !d.round.quiet() {
		return errors.New("nobody waits who may give up")
	}
	return nil
}

// follow makes one step after the other happen; it returns the first at which something else came.
func (d *conductor) follow(ctx context.Context) (number int, difference string) {
	enough := time.Now().Add(calmMax * d.cfg.Patience)
	for i, s := range d.trace {
		leap := d.leap(i)
		if s.N > d.calm && (leap > d.cfg.Patience || time.Now().After(enough)) {
			break
		}
		turn, cancel := context.WithTimeout(ctx, d.cfg.Patience+leap)
		err := d.line(turn, i)
		cancel()
		if err != nil {
			return s.N, fmt.Sprintf("%s: %v", describe(s), err)
		}
	}
	return 0, ""
}

// line makes what a line of the trace says happen, and after a step's last one waits for what comes of it.
func (d *conductor) line(ctx context.Context, i int) error {
	s := d.trace[i]
	if s.N > d.calm {
		if err := d.soothe(ctx); err != nil {
			return err
		}
	}
	if err := d.turn(ctx, i); err != nil {
		return err
	}
	if i+1 < len(d.trace) {
		next := d.trace[i+1]
		if err := d.quiet(ctx, next); err != nil || next.N == s.N {
			return err
		}
	}
	if err := d.settle(ctx, s.N); err != nil {
		return err
	}
	return d.followAll(ctx)
}

// turn makes what a line of the trace says happen.
func (d *conductor) turn(ctx context.Context, i int) error {
	s := d.trace[i]
	d.expected = slices.DeleteFunc(d.expected, func(k int) bool { return k == i })
	if s.Client < 0 {
		return d.world(ctx, s)
	}
	p := d.lives[s.Client]
	if d.owners[s.Session] == nil {
		d.owners[s.Session] = p
	}
	switch s.Kind {
	case sim.KindExchange, sim.KindRequest:
		return d.request(ctx, p, s)
	case sim.KindReply:
		return d.reply(ctx, p, s)
	case sim.KindCall, sim.KindReturn:
		d.stirred = s.At
		return d.awaitMark(ctx, opMark{s.Client, s.User, s.Kind})
	case sim.KindWatch:
		return p.event(ctx, s)
	case sim.KindConnect:
		return p.connect(ctx, s)
	case sim.KindClosed:
		return p.disconnect(ctx, p.stepper.Closed)
	case sim.KindShared:
		_, err := d.grant(ctx, s)
		return err
	case sim.KindFault:
		return d.fault(ctx, p, i)
	case sim.KindHealed:
		if s.Fault == sim.Crash {
			return d.restart(ctx, p, i)
		}
	}
	return nil
}

// world makes a step happen that is no client's.
func (d *conductor) world(ctx context.Context, s sim.Step) error {
	switch {
	case falls(s):
		return d.fall(ctx, s)
	case s.Fault == sim.Lag:
		return d.apply(ctx, s)
	case s.Fault == sim.Reap:
		d.round.reap()
	}
	return nil
}

// settle waits until everybody has come as far as in the simulation after a step: until they have asked for all that
// they had asked for there. The sessions that end in the step end.
func (d *conductor) settle(ctx context.Context, number int) error {
	for _, session := range d.deaths[number] {
		if p := d.owners[session]; p != nil && !p.over {
			if err := p.expire(ctx); err != nil {
				return err
			}
		}
	}
	for i, s := range d.trace {
		if s.N > number && s.Sent == number && s.Op != 0 {
			d.expected = append(d.expected, i)
		}
	}
	missing := -1
	if d.await(ctx, func() bool { missing = d.missing(); return missing < 0 }) {
		return nil
	}
	return fmt.Errorf("the client %s, and not for %s", d.wants(d.trace[missing].Client), describe(d.trace[missing]))
}

// missing returns a line of the expected requests that nobody has asked for, -1 if there is none. The conductor is
// locked.
func (d *conductor) missing() int {
	left := slices.Clone(d.wishes)
	for _, i := range d.expected {
		k := slices.IndexFunc(left, func(w *wish) bool { return w.fits(d.trace[i]) })
		if k < 0 {
			return i
		}
		left = slices.Delete(left, k, k+1)
	}
	return -1
}

// await waits until something is so, which is asked with the conductor locked; false if the context ends before.
func (d *conductor) await(ctx context.Context, so func() bool) bool {
	for {
		d.mu.Lock()
		done, changed := so(), d.changed
		d.mu.Unlock()
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

// stir tells whoever waits that something has changed. The conductor is locked.
func (d *conductor) stir() {
	close(d.changed)
	d.changed = make(chan struct{})
}

// opMark is the begin or the end of an operation of a user.
type opMark struct {
	client, user int
	kind         sim.Kind
}

// mark notes that a user has begun or ended an operation.
func (d *conductor) mark(m opMark) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.marks[m]++
	d.stir()
}

// awaitMark waits until a user has come as far as in the trace.
func (d *conductor) awaitMark(ctx context.Context, m opMark) error {
	d.due[m]++
	if !d.await(ctx, func() bool { return d.marks[m] >= d.due[m] }) {
		return fmt.Errorf("the user has not come so far: the client %s", d.wants(m.client))
	}
	return nil
}

// send lets somebody send the request of a step. A client's own, by which it sets its watches again, comes without being
// asked for.
func (d *conductor) send(ctx context.Context, p *life, s sim.Step) (err error) {
	var w *wish
	if s.Sent >= 0 {
		w, err = d.grant(ctx, s)
	}
	p.sent = append(p.sent, w)
	return err
}

// request lets the request of a step through, if it is that, and the reply if it comes in the same step.
func (d *conductor) request(ctx context.Context, p *life, s sim.Step) error {
	if err := d.send(ctx, p, s); err != nil {
		return err
	}
	if p.over {
		return p.stepper.Request(ctx) // it reaches nobody: the server has closed the connection
	}
	if err := d.passRequest(ctx, p); err != nil || s.Kind == sim.KindRequest {
		return err
	}
	return d.reply(ctx, p, s)
}

// reply lets the reply of a step through, which has to be an error if and only if it was one there, and waits until its
// request's caller has it: it would be lost if the connection broke next.
func (d *conductor) reply(ctx context.Context, p *life, s sim.Step) error {
	code, err := p.stepper.PassReply(ctx)
	if err != nil {
		return err
	}
	if s.Failed() != (code != 0) {
		return fmt.Errorf("the reply has the error %d, and not %s", code, s.Result)
	}
	if len(p.sent) == 0 {
		return errors.New("the client has sent nothing that this could be the reply to")
	}
	w := p.sent[0]
	p.sent = p.sent[1:]
	if w != nil && !d.await(ctx, func() bool { return w.returned }) {
		return errors.New("the client has not got the reply")
	}
	return nil
}

// fault makes a client's fault strike.
func (d *conductor) fault(ctx context.Context, p *life, i int) error {
	switch s := d.trace[i]; s.Fault {
	case sim.Loss:
		return d.lose(ctx, p, s)
	case sim.Lag: // the client leaves its server
		return p.disconnect(ctx, p.stepper.Cut)
	case sim.Watch: // if it is not lost it is held back, and passes when its step comes
		if s.Lost == sim.LostEvent {
			return p.disconnect(ctx, p.stepper.Cut)
		}
	case sim.Expiry:
		if err := p.expire(ctx); err != nil || s.Server >= 0 {
			return err
		}
		return p.disconnect(ctx, p.stepper.Cut)
	case sim.Cancel:
		d.cancel(s)
	case sim.Crash:
		return d.crash(ctx, p, i)
	}
	return nil
}

// cancel lets the caller of a user's operation give up.
func (d *conductor) cancel(s sim.Step) {
	l := d.round
	l.mu.Lock()
	defer l.mu.Unlock()
	l.giveUp(slices.DeleteFunc(l.running(s.Client), func(op *sim.Op) bool { return op.User != s.User }))
}

// lose breaks the connection with what is lost on it, or has requests fail that no server can be reached for.
func (d *conductor) lose(ctx context.Context, p *life, s sim.Step) error {
	switch {
	case s.N == p.begun:
		return nil // it is how the client begins
	case s.Unsent:
		return d.refuse(ctx, p)
	}
	if err := d.losing(ctx, p, s); err != nil {
		return err
	}
	return p.disconnect(ctx, p.stepper.Cut)
}

// losing lets the request of a fault come as far as it comes.
func (d *conductor) losing(ctx context.Context, p *life, s sim.Step) error {
	if s.Lost == "" {
		return nil
	}
	if err := d.send(ctx, p, s); err != nil {
		return err
	}
	if s.Lost == sim.LostRequest || p.over {
		return p.stepper.Request(ctx)
	}
	return d.passRequest(ctx, p)
}

// refuse lets all requests of a client that were not sent yet fail, as go-zookeeper does when it has tried all servers
// in vain.
func (d *conductor) refuse(ctx context.Context, p *life) error {
	if !d.await(ctx, func() bool { return slices.ContainsFunc(d.wishes, p.asks) }) {
		return fmt.Errorf("the client %s", d.wants(p.client))
	}
	d.answer(p.asks, zk.ErrNoServer)
	return nil
}

// free lets everybody go on as they like.
func (d *conductor) free() {
	d.freeAll()
	d.release()
	for _, p := range d.lives {
		p.stepper.Open()
	}
}
