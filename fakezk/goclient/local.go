package goclient

import (
	"fmt"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk"
)

// Local is an in-memory ZooKeeper for unit tests: every request is answered at once, every watch event is there
// before the call that caused it returns, and nothing fails unless a test calls Disconnect or Expire. A client whose
// connection the server closes reconnects at once. The clock stands still unless Advance moves it. It is safe for
// concurrent use.
type Local struct {
	mu      sync.Mutex
	servers *fakezk.Ensemble
	clients []*Client
	clock   int64
}

// localStart is where the clock of a Local begins, ms since 1970: 2000-01-01, as in testing/synctest.
const localStart = 946684800000

// NewLocal returns an empty ZooKeeper.
func NewLocal(cfg fakezk.Config) *Local {
	return &Local{servers: fakezk.New(cfg), clock: localStart}
}

// Over returns a Local over existing servers, whose clock stands at a time in milliseconds since 1970. Nothing else
// may drive the servers meanwhile.
func Over(servers *fakezk.Ensemble, clock int64) *Local {
	return &Local{servers: servers, clock: clock}
}

// Connect opens a session. A disconnected client loses it when [Local.Advance] has passed the timeout. The channel is
// go-zookeeper's global event channel: it holds six events and drops the rest. The error is always nil, as zk.Connect
// has one.
func (l *Local) Connect(timeout time.Duration) (*Conn, <-chan zk.Event, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := NewClient(l, l.servers, timeout.Milliseconds(), nil)
	c.GUIDSeed = uint32(len(l.clients) + 1)
	l.clients = append(l.clients, c)
	l.dial(c)
	return c.Handle(0), c.Events(), nil
}

// Disconnect breaks the connection of a client. Its session lives until its timeout; its requests wait for Reconnect.
func (l *Local) Disconnect(conn *Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	conn.Break(zk.ErrConnectionClosed)
}

// Reconnect lets a disconnected client reach the server again. If its session is gone it learns that, and opens a new
// one.
func (l *Local) Reconnect(conn *Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dial(conn.Client)
}

// Expire ends the session of a client at the server: its ephemeral znodes go. The client learns it, and opens a new
// session, before Expire returns, unless it was disconnected before.
func (l *Local) Expire(conn *Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.servers.Expire(l.clock, conn.Session())
	l.pump()
}

// Advance moves the clock. Sessions of disconnected clients expire, containers and TTL znodes are removed when they
// are due. A connected client pings, so its session stays.
func (l *Local) Advance(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	end := l.clock + d.Milliseconds()
	for {
		next, ok := l.servers.Deadline()
		if !ok || next > end {
			break
		}
		l.moveTo(max(next, l.clock))
	}
	l.moveTo(end)
}

func (l *Local) moveTo(t int64) {
	l.clock = t
	for _, c := range l.clients {
		if _, ok := c.Connected(); ok {
			l.servers.Touch(t, c.Session())
		}
	}
	l.servers.Tick(t)
	l.pump()
}

// Dump returns the znodes at and below a path, one a line: path, data, and owner if ephemeral.
func (l *Local) Dump(root string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []byte
	l.servers.Walk(root, func(path string, n fakezk.NodeInfo) {
		out = fmt.Appendf(out, "%s %q", path, n.Data)
		if n.Stat.EphemeralOwner != 0 {
			out = fmt.Appendf(out, " owner 0x%x", n.Stat.EphemeralOwner)
		}
		out = append(out, '\n')
	})
	return string(out)
}

// Submit implements [Network].
func (l *Local) Submit(call *Call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	call.client.Accept(call)
	l.pump()
}

func (l *Local) dial(c *Client) {
	l.connect(c)
	l.pump()
}

func (l *Local) connect(c *Client) {
	for range 2 { // the first may only tell that the old session is gone
		if _, ok := c.Connected(); !ok && !c.closed.Load() {
			c.Dial(l.clock, 0)
		}
	}
}

// redialsMax bounds how often a client reconnects that sends requests which close its connection. After that it waits
// for [Local.Reconnect].
const redialsMax = 8

// pump moves messages until none is left. Clients whose connection the server has closed connect again.
func (l *Local) pump() {
	for range redialsMax {
		closed := l.move()
		if closed == nil {
			return
		}
		for _, c := range closed {
			l.connect(c)
		}
	}
	l.move()
}

// move ends because every message is consumed and deliveries create none: recipes run on goroutines of their own.
func (l *Local) move() (closed []*Client) {
	for moved := true; moved; {
		moved = false
		for _, c := range l.clients {
			for c.Sent() != nil {
				c.Arrive(l.clock)
				moved = true
			}
			for _, ok := c.Connected(); ok && l.servers.Pending(c.Connection()) > 0; _, ok = c.Connected() {
				m, _ := c.Deliver()
				if m.Closed {
					closed = append(closed, c)
				}
				moved = true
			}
		}
	}
	return closed
}
