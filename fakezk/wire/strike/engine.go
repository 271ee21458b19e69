package strike

import (
	"fmt"
	"maps"
	"time"

	"github.com/zktorture/zktorture/fakezk/wire"
)

// Engine says what becomes of the frames between clients and servers. It is a pure machine, without a clock: equal
// frames at equal times, equal actions. It is for one goroutine at a time.
type Engine struct {
	cfg      Config
	clients  map[int64]*client // by session
	lines    map[int]*line     // by connection
	one      *line             // of Config.One
	opened   int               // clients
	requests int
}

// Config says what strikes.
type Config struct {
	Lottery Lottery
	Plan    Plan // if not nil, what strikes; then nothing is drawn
	One     bool // all connections are of one client, number 1, whatever its sessions
	// Fits reports whether what a request meets can strike now. Of what was drawn it chooses the server first, by any
	// number. If it is nil everything fits.
	Fits func(s *Strike, drawn bool, aim uint64) bool
}

// Action is what is to be done at a frame. The zero value: it goes on.
type Action struct {
	Strike *Strike // that strikes now, to be reported; nil if none does
	Do     Effect
	For    time.Duration // how long it lasts, if it does
}

// Has reports whether an effect is to be brought about.
func (a Action) Has(e Effect) bool { return a.Do&e != 0 }

// client is the client of a session, across its connections.
type client struct {
	number   int // 0 before it has a session
	session  int64
	open     int // connections
	requests int

	vain bool // the answer to its next connect is lost
	kept Effect
	till time.Time // it is kept out, or kept waiting
}

// line is a connection.
type line struct {
	client *client
	begins bool          // a session
	due    map[when]*due // what a request has met, and strikes later
}

// when is the frame at which something strikes: the next one of a moment, or the reply to a request.
type when struct {
	at  moment
	xid int32
}

// due strikes. Without a strike it is a way that was armed by hand.
type due struct {
	way    Way
	strike *Strike
}

// clientsMax is how many sessions are remembered. Beyond that those without a connection are forgotten, and their
// clients are taken for new ones when they come back.
const clientsMax = 1 << 16

// NewEngine returns an engine that has seen no frame.
func NewEngine(cfg Config) *Engine {
	e := &Engine{cfg: cfg, clients: map[int64]*client{}, lines: map[int]*line{}}
	if cfg.One {
		e.one, e.opened = newLine(&client{number: 1}), 1
	}
	return e
}

func newLine(c *client) *line { return &line{client: c, due: map[when]*due{}} }

// Stats counts the open connections, the sessions that were opened, and the requests that might have met a fault.
func (e *Engine) Stats() (open, opened, requests int) { return len(e.lines), e.opened, e.requests }

// Take returns what becomes of a frame that has come.
func (e *Engine) Take(now time.Time, f *wire.Frame) Action {
	if f.Kind == wire.Connect {
		return e.connect(now, f)
	}
	l := e.line(f.Connection)
	switch {
	case f.Kind == wire.Connected:
		return e.connected(l, f)
	case f.Kind == wire.Event:
		return l.strike(now, l.take(when{at: atEvent}))
	case f.Kind == wire.Reply:
		return l.strike(now, l.take(when{atReply, f.Xid}))
	case f.Op == wire.OpPing:
		return l.strike(now, l.take(when{at: atPing}))
	}
	met := e.meet(l, f)
	if armed := l.take(when{at: atRequest}); armed != nil {
		met = armed
	}
	return l.keep(now, f, met)
}

// Ended forgets a connection.
func (e *Engine) Ended(connection int) {
	if l := e.lines[connection]; l != nil {
		l.client.open--
		delete(e.lines, connection)
	}
}

// Arm lets a way of a fault strike at the next request of a connection but pings. It is not reported.
func (e *Engine) Arm(connection int, w Way) {
	e.line(connection).due[when{at: atRequest}] = &due{way: w}
}

// Armed is the variant of what is armed for a connection; "" if nothing is.
func (e *Engine) Armed(connection int) string {
	if d := e.line(connection).due[when{at: atRequest}]; d != nil {
		return d.way.Variant
	}
	return ""
}

// Rearm lets a plan strike at requests, which are counted from now on, ends what keeps clients out, and forgets what
// has not struck yet.
func (e *Engine) Rearm(p Plan) {
	e.cfg.Plan = p
	for _, l := range e.lines {
		clear(l.due)
		l.client.forget()
	}
	for _, c := range e.clients {
		c.forget()
	}
	if e.one != nil {
		clear(e.one.due)
		e.one.client.forget()
	}
}

func (c *client) forget() { c.requests, c.vain, c.kept = 0, false, 0 }

// KeepOut keeps the client of a connection out for so long; with 0 it lets it in again.
func (e *Engine) KeepOut(now time.Time, connection int, lasts time.Duration) {
	e.line(connection).client.keep(now, RefuseNew, lasts)
}

func (c *client) keep(now time.Time, how Effect, lasts time.Duration) {
	c.kept, c.till = how, now.Add(lasts)
}

// line returns a connection. One that has not begun with a connect, or has ended, gets one that is not remembered.
func (e *Engine) line(connection int) *line {
	switch l := e.lines[connection]; {
	case l != nil:
		return l
	case e.one != nil:
		return e.one
	}
	return newLine(&client{})
}

// connect lets a client in, unless it is kept out.
func (e *Engine) connect(now time.Time, f *wire.Frame) Action {
	l := e.one
	if l == nil {
		c := e.clients[f.Resumes]
		if c == nil {
			c = &client{session: f.Resumes}
		}
		l = newLine(c)
	}
	e.Ended(f.Connection) // no client connects twice
	l.client.open++
	l.begins = f.Resumes == 0
	e.lines[f.Connection] = l
	switch c := l.client; {
	case c.kept == 0 || !now.Before(c.till):
		return Action{}
	case c.kept == ignoreNew:
		return Action{Do: Delay | Cut, For: c.till.Sub(now)}
	}
	return Action{Do: Cut}
}

// connected lets a client have its session, unless the answer is lost.
func (e *Engine) connected(l *line, f *wire.Frame) Action {
	c := l.client
	delete(e.clients, c.session)
	if c.session = f.Session; f.Session == 0 { // it has expired
		return Action{}
	}
	if c.number == 0 {
		e.opened++
		c.number = e.opened
	}
	if l.begins {
		if s := e.hello(c); s != nil {
			c.at(s, f, Hello)
			return Action{Strike: s, Do: Cut}
		}
	}
	lost := c.vain
	c.vain = false
	e.clients[f.Session] = c
	if len(e.clients) > clientsMax {
		maps.DeleteFunc(e.clients, func(_ int64, c *client) bool { return c.open == 0 })
	}
	if lost {
		return Action{Do: Cut}
	}
	return Action{}
}

// hello is what the connect meets that opens a client's session; nil for nothing.
func (e *Engine) hello(c *client) *Strike {
	if e.cfg.Plan != nil {
		if s, planned := e.cfg.Plan[Place{c.number, Hello}]; planned {
			return &s
		}
	} else if e.cfg.Lottery.DrawHello(c.number) {
		return &Strike{Fault: Loss, Variant: Answer}
	}
	return nil
}

// meet counts a request and returns what it meets; nil for nothing.
func (e *Engine) meet(l *line, f *wire.Frame) *due {
	if f.Op.Housekeeping() || f.Op == wire.OpCloseSession {
		return nil
	}
	c := l.client
	c.requests++
	e.requests++
	s, aim, met := e.draw(c, f.Timeout)
	if !met || e.cfg.Fits != nil && !e.cfg.Fits(&s, e.cfg.Plan == nil, aim) {
		return nil
	}
	s.Op, s.Path = f.Op.String(), f.Path
	c.at(&s, f, c.requests)
	way, _ := Find(table, s.Fault, s.Variant)
	return &due{way, &s}
}

func (e *Engine) draw(c *client, timeout time.Duration) (s Strike, aim uint64, met bool) {
	if e.cfg.Plan != nil {
		s, met = e.cfg.Plan[Place{c.number, c.requests}]
		return s, 0, met
	}
	what, met := e.cfg.Lottery.Draw(c.number, c.requests)
	return Strike{Fault: what.Fault, Variant: what.Variant, ForMS: what.lasts(timeout)}, what.Aim, met
}

// at adds to a strike where it strikes.
func (c *client) at(s *Strike, f *wire.Frame, request int) {
	s.Client, s.Request, s.Connection = c.number, request, f.Connection
	s.Session = fmt.Sprintf("0x%x", uint64(f.Session))
}

// take returns what strikes at a frame, once; nil if nothing does.
func (l *line) take(at when) *due {
	d := l.due[at]
	delete(l.due, at)
	return d
}

// keep keeps what a request has met for a later frame, or lets it strike.
func (l *line) keep(now time.Time, f *wire.Frame, d *due) Action {
	switch {
	case d == nil || d.way.at == atRequest:
		return l.strike(now, d)
	case d.way.at == atReply:
		l.due[when{atReply, f.Xid}] = d
	default:
		l.due[when{at: d.way.at}] = d
	}
	return Action{}
}

func (l *line) strike(now time.Time, d *due) Action {
	if d == nil {
		return Action{}
	}
	a := Action{Strike: d.strike, Do: d.way.do}
	if d.strike != nil {
		a.For = d.strike.Lasts()
	}
	if a.Has(loseAnswer) {
		l.client.vain = true
	}
	if kept := a.Do & (RefuseNew | ignoreNew); kept != 0 {
		l.client.keep(now, kept, a.For)
	}
	return a
}
