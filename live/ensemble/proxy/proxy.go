package proxy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/zktorture/zktorture/fakezk/wire"
)

// Config configures a proxy. Servers is needed.
type Config struct {
	Listen  string   // address to listen on; a free port of the loopback interface by default
	Servers []string // addresses, tried in turn for each connection
	// Dial connects to a server; nil for plain TCP. The context bounds the attempt.
	Dial Dialer
	// Director decides about each frame; nil forwards all.
	Director Director
	// Arrived, if set, is called with each frame when it arrives, before anything is decided.
	Arrived func(*Frame)
	// Ended, if set, is called once for each connection that a Director has seen, when it has ended.
	Ended func(connection int)
	Log   *slog.Logger // for what is malformed; nil for nothing
}

// Dialer opens a connection to a server: over TLS, for example.
type Dialer func(ctx context.Context, address string) (net.Conn, error)

func dialTCP(ctx context.Context, address string) (net.Conn, error) {
	var dialer net.Dialer
	return dialer.DialContext(ctx, "tcp", address)
}

// dialTimeout bounds how long a server may take to accept a connection.
const dialTimeout = time.Second

// Proxy is a proxy that listens. All methods may be called at any time, by any goroutine.
type Proxy struct {
	cfg      Config
	listener net.Listener
	valves   [2]*valve
	ended    sync.WaitGroup

	mu       sync.Mutex
	closed   bool
	conns    map[int]*conn // by number
	accepted int
	session  Session
}

// New returns a proxy that listens.
func New(cfg Config) (*Proxy, error) {
	if len(cfg.Servers) == 0 {
		return nil, errors.New("proxy: there are no servers to forward to")
	}
	listener, err := net.Listen("tcp", cmp.Or(cfg.Listen, "127.0.0.1:0"))
	if err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	p := &Proxy{cfg: cfg.withDefaults(), listener: listener, valves: newValves(), conns: map[int]*conn{}}
	p.ended.Go(p.accept)
	return p, nil
}

func (cfg Config) withDefaults() Config {
	if cfg.Dial == nil {
		cfg.Dial = dialTCP
	}
	if cfg.Director == nil {
		cfg.Director = func(<-chan struct{}, *Frame) Action { return Forward }
	}
	if cfg.Ended == nil {
		cfg.Ended = func(int) {}
	}
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	return cfg
}

// Addr is the address that clients connect to.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Close cuts all connections, stops listening and waits until all has ended. It may be called again.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	err := p.listener.Close()
	p.Cut()
	p.ended.Wait()
	if errors.Is(err, net.ErrClosed) { // it was closed before
		return nil
	}
	return err
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			p.cfg.Log.Warn("no connection could be accepted: " + err.Error())
			time.Sleep(acceptPause)
			continue
		}
		if !p.admit(client) {
			reset(client)
		}
	}
}

// acceptPause is how long to wait when the system has no resources for another connection.
const acceptPause = 10 * time.Millisecond

// admit begins to serve a connection; false if it is refused.
func (p *Proxy) admit(client net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.accepted++
	number := p.accepted
	p.ended.Go(func() { p.serve(client, number) })
	return true
}

func (p *Proxy) serve(client net.Conn, number int) {
	server, address, err := p.dial(number - 1)
	if err != nil {
		p.cfg.Log.Info("no server can be reached: "+err.Error(), "connection", number)
		reset(client)
		return
	}
	c := newConn(p, number, address, client, server)
	if !p.enter(c) {
		c.cut()
		return
	}
	c.run()
	p.leave(c)
	p.cfg.Ended(number)
}

// dial connects to the first server that accepts, beginning with one.
func (p *Proxy) dial(first int) (server net.Conn, address string, err error) {
	for i := range p.cfg.Servers {
		address = p.cfg.Servers[(first+i)%len(p.cfg.Servers)]
		ctx, cancel := context.WithTimeout(context.Background(), dialTimeout)
		server, err = p.cfg.Dial(ctx, address)
		cancel()
		if err == nil {
			return server, address, nil
		}
	}
	return nil, "", err
}

// enter counts a connection among the open ones; false if the proxy has been closed meanwhile.
func (p *Proxy) enter(c *conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.conns[c.number] = c
	return true
}

func (p *Proxy) leave(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c.number)
}

// granted remembers the session that a server has granted, whether its client will hear of that or not.
func (p *Proxy) granted(c *conn, f *Frame) {
	if f.Kind != wire.Connected || f.Session == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	c.session = c.track.session
	c.session.Server, c.session.dial = c.server, p.cfg.Dial
}

// note remembers the session of which a client is about to hear.
func (p *Proxy) note(c *conn, f *Frame) {
	if f.Kind != wire.Connected || f.Session == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.session = c.session
}

// Session returns the session whose grant was forwarded last on any connection; its ID is 0 before.
func (p *Proxy) Session() Session {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.session
}

// SessionOf returns the session of a connection, also if its client has not heard of it; its ID is 0 before one is
// granted, and after the connection has ended.
func (p *Proxy) SessionOf(connection int) Session {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.conns[connection]; c != nil {
		return c.session
	}
	return Session{}
}

// Cut resets all connections, at both ends.
func (p *Proxy) Cut() {
	for _, c := range p.open() {
		c.cut()
	}
}

// CutHalfOpen resets the connections that have one end cut off.
func (p *Proxy) CutHalfOpen() {
	for _, c := range p.open() {
		if c.deaf[ToServer].Load() || c.deaf[ToClient].Load() {
			c.cut()
		}
	}
}

// CutOff resets the end of a connection from which a direction's frames come, and leaves the other end in the belief
// that it is connected: with ToServer the client is cut off, and the server waits for it. What the other end sends is
// lost.
func (p *Proxy) CutOff(connection int, d Direction) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.conns[connection]; c != nil {
		c.deaf[d].Store(true)
		reset(c.ends[d])
	}
}

func (p *Proxy) open() []*conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.SortedFunc(maps.Values(p.conns), func(a, b *conn) int { return a.number - b.number })
}

// Hold lets nothing pass in a direction of all connections, now and later, or everything again.
func (p *Proxy) Hold(d Direction, held bool) { p.valves[d].hold(held) }

// HoldOne does so for one connection, unless it has ended.
func (p *Proxy) HoldOne(connection int, d Direction, held bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c := p.conns[connection]; c != nil {
		c.valves[d].hold(held)
	}
}
