package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/workload"
)

// life is one life of a client's process: from its start to its crash, or to the end of the round.
type life struct {
	conductor *conductor
	client    int
	number    int // how often the client has crashed before
	begun     int // the step
	session   *Session
	server    int // to which it is connected, or was last
	stepper   Stepper
	users     []*conductedUser
	watches   clientWatches
	sent      []*wish // whose replies have not come; nil for the client's own
	over      bool    // its session has ended, of which the client has not heard

	// Guarded by the conductor:
	died      int64 // when it crashed; 0: it has not
	connected bool
	granted   int // how often it has been connected to a session
	told      int // how often it has learned that its session has ended
	events    int // how many events of watches it has got
}

// conductedUser is a user in one life of a client.
type conductedUser struct {
	*liveUser
	finished atomic.Bool
}

// AwaitOthers waits until all others have finished, and for the step in which the user knows that.
func (u *conductedUser) AwaitOthers() {
	u.liveUser.AwaitOthers()
	u.via.ask(outsideZK, "")
}

// begin opens the sessions of all clients, and starts their users.
func (d *conductor) begin(ctx context.Context) error {
	if err := d.holdAll(ctx); err != nil {
		return err
	}
	if err := d.round.prepare(); err != nil {
		return err
	}
	layout := d.round.episode.Users()
	d.lives, d.round.sessions = make([]*life, len(layout)), make([]*Session, len(layout))
	for client, users := range layout {
		if err := d.open(ctx, client, -1); err != nil {
			return err
		}
		if err := d.followAll(ctx); err != nil {
			return err
		}
		d.round.active += users
	}
	for _, p := range d.lives {
		p.start(ctx, nil)
	}
	return nil
}

// open opens a session for the life of a client that begins after a line of the trace.
func (d *conductor) open(ctx context.Context, client, line int) error {
	p := &life{conductor: d, client: client, watches: clientWatches{semantics: d.round.run.workload.ClientSemantics()}}
	if line >= 0 {
		p.begun, p.number = d.trace[line].N, d.lives[client].number+1
	}
	how, refused := d.opening(p, line)
	if err := d.openAt(ctx, p, how); err != nil {
		return err
	}
	p.stepper.Shut()
	if p.watches.forgets() {
		p.stepper.Forget()
	}
	d.lives[client], d.round.sessions[client] = p, p.session
	for index := range d.round.episode.Users()[client] {
		p.users = append(p.users, &conductedUser{liveUser: p.newUser(index, refused)})
	}
	return nil
}

// openAt opens the session of a life.
func (d *conductor) openAt(ctx context.Context, p *life, how Opening) (err error) {
	open := func() (err error) {
		p.session, p.stepper, err = d.cfg.Open(ctx, how)
		return err
	}
	p.server = how.Server
	if how.Unconnected {
		return open()
	}
	if err := d.meet(ctx, how.Server, p.begun); err != nil {
		return err
	}
	return d.through(ctx, how.Server, open)
}

// opening says how a life begins by the lines that follow; refused, that the first requests fail.
func (d *conductor) opening(p *life, line int) (how Opening, refused bool) {
	how.OnEvent = p.onEvent
	for _, s := range d.trace[line+1:] {
		switch {
		case s.Client != p.client || s.Kind == sim.KindCall:
		case s.N == p.begun && s.Fault == sim.Loss:
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

func (p *life) newUser(index int, refused bool) *liveUser {
	l := p.conductor.round
	return &liveUser{
		round: l, session: p.session, clientN: p.client, indexN: index, slot: workload.Slot(l.episode.Users(), p.client, index),
		via: newConductedConn(p, index, refused),
	}
}

// start starts the users of a life that had not finished in the one before, each when the one before has asked for
// something, or has had its time: users of one process may share objects, which the first of them makes.
func (p *life) start(ctx context.Context, before []*conductedUser) {
	d := p.conductor
	for i, u := range p.users {
		if before != nil && before[i].finished.Load() {
			u.finished.Store(true)
			continue
		}
		go func() {
			defer p.leave(u)
			d.round.episode.Run(u)
		}()
		turn, cancel := context.WithTimeout(ctx, d.cfg.Patience/10)
		d.await(turn, func() bool { return u.via.asked || u.finished.Load() })
		cancel()
	}
}

// leave notes that a user has finished, unless its process has died.
func (p *life) leave(u *conductedUser) {
	if p.dead() {
		return
	}
	u.finished.Store(true)
	p.conductor.round.left()
	p.conductor.mu.Lock()
	defer p.conductor.mu.Unlock()
	p.conductor.stir()
}

// asks tells whether a wish is for a request of the client.
func (p *life) asks(w *wish) bool { return w.client == p.client && w.op != outsideZK }

// onEvent is called with each event of the client.
func (p *life) onEvent(e zk.Event) {
	if e.Type == zk.EventSession {
		p.watches.tell(e.State)
	}
	d := p.conductor
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case e.Type != zk.EventSession:
		p.events++
	case e.State == zk.StateHasSession:
		p.connected = true
		p.granted++
	case e.State == zk.StateExpired:
		p.told++
	case e.State == zk.StateDisconnected:
		p.connected = false
	}
	d.stir()
}

// event lets an event of a watch through, and waits until the client has it: it would be lost if the connection broke
// next.
func (p *life) event(ctx context.Context, s sim.Step) error {
	d := p.conductor
	d.mu.Lock()
	before := p.events
	d.mu.Unlock()
	path, err := p.stepper.PassEvent(ctx)
	switch {
	case err != nil:
		d.missed = p.over
		return err
	case !samePath(s.Path, path):
		return fmt.Errorf("the event is of %s", path)
	case !d.await(ctx, func() bool { return p.events > before }):
		return errors.New("the client has not got the event")
	}
	return nil
}

// connect lets the client connect, and waits until it knows what has come of it.
func (p *life) connect(ctx context.Context, s sim.Step) error {
	d := p.conductor
	d.mu.Lock()
	granted, told := p.granted, p.told
	d.mu.Unlock()
	if s.Dialled == sim.DialledRefused {
		return nil // the client has to try another server
	}
	if err := p.dial(ctx, s); err != nil {
		return err
	}
	came := func() bool { return p.granted > granted }
	if s.Session == 0 {
		came = func() bool { return p.told > told }
	}
	if !d.await(ctx, came) {
		return errors.New("the client has been answered otherwise")
	}
	p.over = false
	return nil
}

// dial lets the client connect to the server of a step.
func (p *life) dial(ctx context.Context, s sim.Step) error {
	d := p.conductor
	p.server = max(0, s.Server)
	if err := d.meet(ctx, p.server, s.N); err != nil {
		return err
	}
	connect := func() error { return p.stepper.Connect(ctx, p.server) }
	if s.Dialled == sim.DialledNew {
		return d.through(ctx, p.server, connect)
	}
	return connect()
}

// disconnect lets the client lose its connection, and waits until it knows. What it has sent is lost: all that it has
// asked for and that was not granted.
func (p *life) disconnect(ctx context.Context, how func()) error {
	d := p.conductor
	sent := d.pending(p.asks)
	how()
	if !d.await(ctx, func() bool { return !p.connected }) {
		return errors.New("the client has not lost its connection")
	}
	p.over, p.sent = false, nil
	d.answer(func(w *wish) bool { return slices.Contains(sent, w) }, zk.ErrConnectionClosed)
	return nil
}

// crash kills the client's process. A request of its may still be carried out, which the next line says.
func (d *conductor) crash(ctx context.Context, p *life, i int) error {
	s := d.trace[i]
	if next := i + 1; s.Lost == "" && next < len(d.trace) && d.trace[next].N == s.N && d.trace[next].Lost != "" {
		return nil
	}
	if err := d.losing(ctx, p, s); err != nil {
		return err
	}
	p.kill()
	return nil
}

// kill ends the life: whoever runs in it ends when it next does something, and its session stays at the servers.
func (p *life) kill() {
	d, l := p.conductor, p.conductor.round
	p.stepper.Kill()
	l.mu.Lock()
	d.mu.Lock()
	p.died = l.run.stamp()
	d.mu.Unlock()
	for _, op := range l.running(p.client) {
		if op.Life == p.number {
			op.Outcome = sim.Unknown
			l.cancels[op]()
		}
	}
	l.mu.Unlock()
	d.answer(func(w *wish) bool { return w.client == p.client }, errDead)
	p.session.Close() // for its own sake: it reaches nobody
	d.former = append(d.former, p)
}

// errDead is the answer to whoever is in a process that is dead.
var errDead = errors.New("live: the process is dead")

// dead tells whether the process has crashed.
func (p *life) dead() bool {
	p.conductor.mu.Lock()
	defer p.conductor.mu.Unlock()
	return p.died != 0
}

// restart begins a client's next life.
func (d *conductor) restart(ctx context.Context, old *life, line int) error {
	if err := d.open(ctx, old.client, line); err != nil {
		return err
	}
	d.lives[old.client].start(ctx, old.users)
	return nil
}

// end closes all sessions. Those of dead processes are ended: they would last until they expire.
func (d *conductor) end(ctx context.Context) {
	d.freeAll()
	for _, p := range d.former {
		if !p.over {
			p.stepper.Expire(ctx)
		}
	}
	for _, p := range d.lives {
		if p != nil && !slices.Contains(d.former, p) {
			p.session.Close()
		}
	}
}
