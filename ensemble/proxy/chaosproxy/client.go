package chaosproxy

import (
	"maps"
	"time"

	"github.com/zktorture/zktorture/ensemble/proxy"
	"github.com/zktorture/zktorture/wire/strike"
)

// client is the client of a session, across its connections.
type client struct {
	number  int
	session int64
	counter strike.Counter
	open    int // connections
	barred  bar
	vain    bool // the answer to its next connect is lost
}

// bar keeps a client away from its servers.
type bar struct {
	kind  strike.Fault // Refuse or Stall; "" for none
	until time.Time
}

// line is a connection.
type line struct {
	client *client
	after  map[int32]*strike.Strike // by number of a request: strikes at its reply
	watch  *strike.Strike           // strikes at the next event
	idle   *strike.Strike           // strikes at the next ping
}

// clientsMax is how many sessions are remembered. Beyond that those without a connection are forgotten, and their
// clients are taken for new ones when they come back.
const clientsMax = 1 << 16

// arrived notes the client of a new connection, and returns what bars it.
func (p *Proxy) arrived(f *proxy.Frame) bar {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.clients[f.Resumes]
	if c == nil {
		p.opened++
		c = &client{number: p.opened, session: f.Resumes}
	}
	c.open++
	p.lines[f.Connection] = newLine(c)
	if time.Now().After(c.barred.until) {
		return bar{}
	}
	return c.barred
}

// granted notes a session, or that it has expired, and returns what strikes at the answer that says so.
func (p *Proxy) granted(f *proxy.Frame) (s *strike.Strike, lost bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.line(f).client
	delete(p.clients, c.session)
	began := c.session == 0
	if c.session = f.Session; f.Session == 0 {
		return nil, false
	}
	if began && p.lottery.DrawHello(c.number) {
		return p.at(c, f, strike.Hello, strike.Strike{Fault: strike.Loss, Variant: strike.Answer}), true
	}
	lost, c.vain = c.vain, false
	p.clients[f.Session] = c
	if len(p.clients) > clientsMax {
		maps.DeleteFunc(p.clients, func(_ int64, c *client) bool { return c.open == 0 })
	}
	return nil, lost
}

// ended forgets a connection.
func (p *Proxy) ended(connection int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if l := p.lines[connection]; l != nil {
		l.client.open--
		delete(p.lines, connection)
	}
}

func newLine(c *client) *line { return &line{client: c, after: map[int32]*strike.Strike{}} }

// line returns the connection of a frame. A frame before a connect request gets one that is not remembered.
func (p *Proxy) line(f *proxy.Frame) *line {
	if l := p.lines[f.Connection]; l != nil {
		return l
	}
	return newLine(&client{})
}

// loseAnswer lets the answer to the next connect of a frame's client get lost.
func (p *Proxy) loseAnswer(f *proxy.Frame) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.line(f).client.vain = true
}

// keepAway bars the client of a frame from coming back with its session until it is let in.
func (p *Proxy) keepAway(f *proxy.Frame, kind strike.Fault, lasts time.Duration) (letIn func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.line(f).client
	c.barred = bar{kind, time.Now().Add(lasts)}
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		c.barred = bar{}
	}
}
