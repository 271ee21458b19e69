package confirm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/live"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim/world"
)

// incarnation is one incarnation of a client's process: from its start to its crash, or to the end of the round.
type incarnation struct {
	replayer *replayer
	client   int
	number   int // how often the client has crashed before
	begun    int // the step
	session  *live.Session
	server   int // to which it is connected, or was last
	stepper  Stepper
	users    []*replayedUser
	watches  clientWatches
	sent     []*pendingRequest // whose replies have not come; nil for the client's own
	over     bool              // its session has ended, of which the client has not heard

	// Guarded by the replayer:
	dead         bool
	connected    bool
	granted      int // how often it has been connected to a session
	expiriesSeen int // how often it has learned that its session has ended
	events       int // how many events of watches it has got
}

// replayedUser is a user in one incarnation of a client. The replayer holds it up, and learns how far it has come.
type replayedUser struct {
	*live.User
	via      *replayedConn
	finished bool // guarded by the replayer
}

func (u *replayedUser) Conn() recipes.Conn { return u.via }

// SawExpiryBefore reports whether the client knew all expiries it knows now when the user went on last.
func (u *replayedUser) SawExpiryBefore() bool {
	p := u.via.incarnation
	p.replayer.mu.Lock()
	defer p.replayer.mu.Unlock()
	return u.via.expiriesSeen > 0 && u.via.expiriesSeen == p.expiriesSeen
}

func (u *replayedUser) Begin(name, arg string, cancelable bool) (context.Context, *world.Op) {
	ctx, op := u.User.Begin(name, arg, cancelable)
	u.mark(world.KindCall)
	return ctx, op
}

func (u *replayedUser) End(op *world.Op, outcome world.Outcome, result string, err error) {
	u.User.End(op, outcome, result, err)
	u.mark(world.KindReturn)
}

func (u *replayedUser) mark(kind world.Kind) {
	u.via.incarnation.replayer.mark(opMark{u.Client(), u.Index(), kind})
}

func (u *replayedUser) Do(what string, f func() string) {
	u.via.ask(outsideZK, "")
	u.User.Do(what, f)
}

// Wait waits until the time has passed in the trace.
func (u *replayedUser) Wait(d time.Duration) { u.via.wait(d) }

// AwaitLiveness waits for the step in which the user knows that all faults are over.
func (u *replayedUser) AwaitLiveness() bool {
	u.via.ask(outsideZK, "")
	return true
}

// AwaitOthers waits until all others have finished, and for the step in which the user knows that.
func (u *replayedUser) AwaitOthers() {
	u.User.AwaitOthers()
	u.via.ask(outsideZK, "")
}

// begin opens the sessions of all clients, and starts their users.
func (r *replayer) begin(ctx context.Context) error {
	if err := r.holdAll(ctx); err != nil {
		return err
	}
	if err := r.round.Prepare(); err != nil {
		return err
	}
	r.incarnations = make([]*incarnation, len(r.round.Users()))
	for client := range r.incarnations {
		if err := r.open(ctx, client, -1); err != nil {
			return err
		}
		if err := r.followAll(ctx); err != nil {
			return err
		}
	}
	for _, p := range r.incarnations {
		p.start(ctx, nil)
	}
	return nil
}

// open opens a session for the incarnation of a client that begins after a line of the trace.
func (r *replayer) open(ctx context.Context, client, line int) error {
	p := &incarnation{replayer: r, client: client, watches: clientWatches{semantics: r.workload.Terms().Client}}
	if line >= 0 {
		p.begun, p.number = r.trace[line].N, r.incarnations[client].number+1
	}
	how, refused := r.opening(p, line)
	if err := r.openAt(ctx, p, how); err != nil {
		return err
	}
	p.stepper.Shut()
	if p.watches.forgets() {
		p.stepper.Forget()
	}
	r.incarnations[client] = p
	r.round.SetSession(client, p.session)
	for index := range r.round.Users()[client] {
		p.users = append(p.users, &replayedUser{User: r.round.User(client, index), via: newReplayedConn(p, index, refused)})
	}
	return nil
}

// openAt opens the session of an incarnation.
func (r *replayer) openAt(ctx context.Context, p *incarnation, how Opening) (err error) {
	open := func() (err error) {
		p.session, p.stepper, err = r.cfg.Open(ctx, how)
		return err
	}
	p.server = how.Server
	if how.Unconnected {
		return open()
	}
	if err := r.meet(ctx, how.Server, p.begun); err != nil {
		return err
	}
	return r.through(ctx, how.Server, open)
}

// opening says how an incarnation begins by the lines that follow; refused, that the first requests fail.
func (r *replayer) opening(p *incarnation, line int) (how Opening, refused bool) {
	how.OnEvent = p.onEvent
	for _, s := range r.trace[line+1:] {
		switch {
		case s.Client != p.client || s.Kind == world.KindCall:
		case s.N == p.begun && s.Fault == world.Loss:
			how.Unconnected, refused = true, s.Unsent
		case s.Session != 0:
			how.Server = serverOf(s.Session)
			return how, refused
		}
	}
	return how, refused
}

// serverOf returns the server of the simulation that has granted a session.
func serverOf(session int64) int { return int(session>>56) - 1 }

// start starts the users of an incarnation that had not finished in the one before, each when the one before has
// asked for something, or has had its time: users of one process may share objects, which the first of them makes.
func (p *incarnation) start(ctx context.Context, before []*replayedUser) {
	r := p.replayer
	for i, u := range p.users {
		if before != nil && before[i].finished {
			u.finished = true
			continue
		}
		go func() {
			defer p.leave(u)
			r.round.Run(u)
		}()
		turn, cancel := context.WithTimeout(ctx, r.cfg.Patience/10)
		r.await(turn, func() bool { return u.via.asked || u.finished })
		cancel()
	}
}

// leave notes that a user has finished, unless its process has died.
func (p *incarnation) leave(u *replayedUser) {
	r := p.replayer
	r.mu.Lock()
	defer r.mu.Unlock()
	if p.dead {
		return
	}
	u.finished = true
	r.round.Left()
	r.stir()
}

// asks reports whether a pending request is for a request of the client.
func (p *incarnation) asks(w *pendingRequest) bool { return w.client == p.client && w.op != outsideZK }

// onEvent is called with each event of the client.
func (p *incarnation) onEvent(e zk.Event) {
	if e.Type == zk.EventSession {
		p.watches.tell(e.State)
	}
	r := p.replayer
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case e.Type != zk.EventSession:
		p.events++
	case e.State == zk.StateHasSession:
		p.connected = true
		p.granted++
	case e.State == zk.StateExpired:
		p.expiriesSeen++
	case e.State == zk.StateDisconnected:
		p.connected = false
	}
	r.stir()
}

// event lets an event of a watch through, and waits until the client has it: it would be lost if the connection broke
// next.
func (p *incarnation) event(ctx context.Context, s world.Step) error {
	r := p.replayer
	r.mu.Lock()
	before := p.events
	r.mu.Unlock()
	path, err := p.stepper.PassEvent(ctx)
	switch {
	case err != nil:
		r.missed = p.over
		return err
	case !samePath(s.Path, path):
		return fmt.Errorf("the event is of %s", path)
	case !r.await(ctx, func() bool { return p.events > before }):
		return errors.New("the client has not got the event")
	}
	return nil
}

// connect lets the client connect, and waits until it knows what has come of it.
func (p *incarnation) connect(ctx context.Context, s world.Step) error {
	r := p.replayer
	r.mu.Lock()
	granted, told := p.granted, p.expiriesSeen
	r.mu.Unlock()
	if s.Dialled == world.DialledRefused || s.Dialled == world.DialledOpen {
		return nil // the client has to try another server
	}
	if err := p.loseConnection(ctx); err != nil {
		return err
	}
	if err := p.dial(ctx, s); err != nil {
		return err
	}
	came := func() bool { return p.granted > granted }
	if s.Session == 0 {
		came = func() bool { return p.expiriesSeen > told }
	}
	if !r.await(ctx, came) {
		return errors.New("the client got another answer")
	}
	p.over = false
	return nil
}

// dial lets the client connect to the server of a step.
func (p *incarnation) dial(ctx context.Context, s world.Step) error {
	r := p.replayer
	p.server = max(0, s.Server)
	if err := r.meet(ctx, p.server, s.N); err != nil {
		return err
	}
	connect := func() error { return p.stepper.Connect(ctx, p.server) }
	if s.Dialled == world.DialledNew {
		return r.through(ctx, p.server, connect)
	}
	return connect()
}

// dialInVain lets the client connect, and the answer get lost by which a server tells of a session that it has begun.
func (p *incarnation) dialInVain(ctx context.Context, s world.Step) error {
	r := p.replayer
	server := serverOf(s.Vain)
	if err := r.meet(ctx, server, s.N); err != nil {
		return err
	}
	return r.through(ctx, server, func() error {
		end, err := p.stepper.ConnectInVain(ctx, server)
		if err == nil {
			r.vain[s.Vain] = end
		}
		return err
	})
}

// endVain ends a session that was begun in vain, if it is one, by way of the leader.
func (r *replayer) endVain(ctx context.Context, session int64) error {
	end := r.vain[session]
	if end == nil {
		return nil
	}
	delete(r.vain, session)
	_, err := end(ctx, 0)
	return err
}

// disconnect lets the client lose its connection, and waits until it knows. What it has sent is lost: all that it has
// asked for and that was not granted.
func (p *incarnation) disconnect(ctx context.Context, how func()) error {
	r := p.replayer
	sent := r.pending(p.asks)
	how()
	if !r.await(ctx, func() bool { return !p.connected }) {
		return errors.New("the client has not lost its connection")
	}
	p.over, p.sent = false, nil
	r.answer(func(w *pendingRequest) bool { return slices.Contains(sent, w) }, zk.ErrConnectionClosed)
	return nil
}

// loseConnection lets the client lose its connection if it still has one, on which something may have been silent.
func (p *incarnation) loseConnection(ctx context.Context) error {
	p.replayer.mu.Lock()
	connected := p.connected
	p.replayer.mu.Unlock()
	if !connected {
		return nil
	}
	return p.disconnect(ctx, p.stepper.Cut)
}

// asksInVain waits for the client's next request, which is lost.
func (p *incarnation) asksInVain(ctx context.Context) error {
	_, _, err := p.stepper.Request(ctx)
	return err
}

// crash kills the client's process. A request of its may still be carried out, which the next line says.
func (r *replayer) crash(ctx context.Context, p *incarnation, i int) error {
	s := r.trace[i]
	if next := i + 1; s.Lost == "" && next < len(r.trace) && r.trace[next].N == s.N && r.trace[next].Lost != "" {
		return nil
	}
	if err := r.losing(ctx, p, s); err != nil {
		return err
	}
	p.kill()
	return nil
}

// kill ends the incarnation: each of its goroutines ends at its next request; its session stays at the servers.
func (p *incarnation) kill() {
	r := p.replayer
	p.stepper.Kill()
	r.mu.Lock()
	p.dead = true
	r.stir()
	r.mu.Unlock()
	r.round.Crash(p.client)
	r.answer(func(w *pendingRequest) bool { return w.client == p.client }, errDead)
	p.session.Close() // frees the client; the request is lost
	r.former = append(r.former, p)
}

// errDead is the answer to requests of a dead process.
var errDead = errors.New("confirm: the process is dead")

// restart begins a client's next incarnation.
func (r *replayer) restart(ctx context.Context, old *incarnation, line int) error {
	if err := r.open(ctx, old.client, line); err != nil {
		return err
	}
	r.incarnations[old.client].start(ctx, old.users)
	return nil
}

// end closes all sessions. Those of dead processes, and of nobody, are ended: they would last until they expire.
func (r *replayer) end(ctx context.Context) {
	r.freeAll()
	for session := range r.vain {
		r.endVain(ctx, session)
	}
	for _, p := range r.former {
		if !p.over {
			p.stepper.Expire(ctx)
		}
		p.session.Close()
	}
	for _, p := range r.incarnations {
		if p != nil && !slices.Contains(r.former, p) {
			p.session.Close()
		}
	}
}
