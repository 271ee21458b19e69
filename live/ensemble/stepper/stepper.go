// Package stepper lets the requests, replies and watch events of a client pass one by one.
//
// A [Stepper] is a proxy of one client by which a trace of the simulator is replayed on real servers. Until it is
// shut everything passes. Then requests, replies, events, and the request by which the client sets its watches again
// wait until they are let through, and the client connects when it may, to the server that was chosen. Pings pass
// unless something waits before them.
package stepper

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/zktorture/zktorture/fakezk/wire"
	"github.com/zktorture/zktorture/live/ensemble/proxy"
)

// Stepper is a proxy of one client. Its methods are for one goroutine.
type Stepper struct {
	proxy   *proxy.Proxy
	servers []string

	mu        sync.Mutex
	shut      bool
	server    int                    // to which the client is connected next
	admitting bool                   // the client may connect once, although the stepper is shut
	vain      *proxy.Session         // if not nil, the next answer to a connect is lost, and its session goes here
	held      bool                   // the client does not learn of the end of its connection
	forgetful bool                   // watches are not set again
	connects  int                    // how often a server has answered
	waiting   [2]*waiting            // by direction: the next frame
	changed   chan struct{}          // closed and replaced whenever something changes
	replies   map[int32]bool         // by request that was let through: the reply has arrived
	ended     map[int64][2]time.Time // by session: alive until then, gone since
	killed    bool                   // the client does not connect any more
	over      chan struct{}          // closed by Close
	end       func()                 // closes it
}

// waiting is a frame that waits to be let through.
type waiting struct {
	frame  *proxy.Frame
	answer chan proxy.Action
}

// routed is the address that stands for the server chosen by Route.
const routed = "routed"

// New returns a stepper that lets everything through, to the first of the servers.
func New(servers []string) (*Stepper, error) {
	if len(servers) == 0 {
		return nil, errors.New("stepper: there are no servers behind it")
	}
	over := make(chan struct{})
	s := &Stepper{
		servers: servers, changed: make(chan struct{}), replies: map[int32]bool{}, ended: map[int64][2]time.Time{},
		over: over, end: sync.OnceFunc(func() { close(over) }),
	}
	p, err := proxy.New(proxy.Config{
		Servers: []string{routed}, Dial: s.dial, Director: s.direct, Arrived: s.arrived,
	})
	if err != nil {
		return nil, err
	}
	s.proxy = p
	return s, nil
}

// Addr is the address that the client connects to.
func (s *Stepper) Addr() string { return s.proxy.Addr() }

// Close lets through what waits and then cuts the client off for good. Its session stays, unless the client has
// closed it.
func (s *Stepper) Close() error {
	s.Open()
	s.end()
	return s.proxy.Close()
}

// Kill cuts the client off for good, without letting through what waits. Its session stays. What it dials is not answered
// before Close, so that it does not come to another that listens at the address later.
func (s *Stepper) Kill() {
	s.set(func() { s.killed = true })
	s.proxy.Cut()
}

// Shut lets frames through only one by one from now on.
func (s *Stepper) Shut() { s.set(func() { s.shut = true }) }

// Open lets everything through again.
func (s *Stepper) Open() {
	s.set(func() { s.shut = false })
	s.hold(false)
	for _, d := range []proxy.Direction{proxy.ToServer, proxy.ToClient} {
		s.answer(d, proxy.Forward)
	}
}

// Route chooses the server to which the client is connected next.
func (s *Stepper) Route(server int) { s.set(func() { s.server = server % len(s.servers) }) }

// Forget drops the requests by which the client sets its watches again when it connects, as if its library dropped
// watches with the connection. The client waits for an answer in vain, which go-zookeeper does in the background.
func (s *Stepper) Forget() { s.set(func() { s.forgetful = true }) }

func (s *Stepper) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	close(s.changed)
	s.changed = make(chan struct{})
}

// dial connects to the chosen server when the client may connect, however long that takes: go-zookeeper fails requests
// when it has tried all its addresses in vain.
func (s *Stepper) dial(ctx context.Context, address string) (net.Conn, error) {
	if address == routed {
		if !s.until(s.over, func() bool { return !s.killed && (!s.shut || s.admitting) }) {
			return nil, net.ErrClosed
		}
		ctx = context.WithoutCancel(ctx) // servers are on this machine: they accept or refuse at once
		address = s.after(0)
	}
	return new(net.Dialer).DialContext(ctx, "tcp", address)
}

// after is the address of the n-th server after the client's.
func (s *Stepper) after(n int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.servers[(s.server+n)%len(s.servers)]
}

// direct is the proxy's director.
func (s *Stepper) direct(done <-chan struct{}, f *proxy.Frame) proxy.Action {
	switch {
	case f.Kind == wire.Connected:
		return s.connected(f)
	case f.Kind == wire.Connect || f.Op != wire.OpSetWatches && f.Op.Housekeeping():
		return proxy.Forward
	}
	w := &waiting{f, make(chan proxy.Action, 1)}
	action, waits := s.queue(w)
	if !waits {
		return action
	}
	select {
	case a := <-w.answer:
		return a
	case <-done:
		s.set(func() {
			if s.waiting[f.Direction] == w {
				s.waiting[f.Direction] = nil
			}
		})
		return proxy.CutBefore
	}
}

// connected lets the answer to a connect pass, or get lost.
func (s *Stepper) connected(f *proxy.Frame) proxy.Action {
	action, session := proxy.Forward, s.proxy.SessionOf(f.Connection)
	s.set(func() {
		s.connects, s.admitting = s.connects+1, false
		if s.vain != nil {
			*s.vain, s.vain, action = session, nil, proxy.CutBefore
		}
	})
	return action
}

// queue lets a frame wait, or says what becomes of it at once.
func (s *Stepper) queue(w *waiting) (action proxy.Action, waits bool) {
	s.set(func() {
		switch f := w.frame; {
		case s.forgetful && f.Op == wire.OpSetWatches && f.Kind == wire.Request:
			action = proxy.Discard
		case !s.shut:
			action = proxy.Forward
		default:
			s.waiting[f.Direction], waits = w, true
		}
	})
	return action, waits
}

// arrived notes that the reply to a request has come.
func (s *Stepper) arrived(f *proxy.Frame) {
	if f.Kind == wire.Reply {
		s.set(func() {
			if _, passed := s.replies[f.Xid]; passed {
				s.replies[f.Xid] = true
			}
		})
	}
}

// until waits until a condition holds; false if done comes first.
func (s *Stepper) until(done <-chan struct{}, holds func() bool) bool {
	for {
		s.mu.Lock()
		if holds() {
			s.mu.Unlock()
			return true
		}
		changed := s.changed
		s.mu.Unlock()
		select {
		case <-changed:
		case <-done:
			return false
		}
	}
}

// answer decides about the frame of a direction that waits.
func (s *Stepper) answer(d proxy.Direction, a proxy.Action) {
	s.mu.Lock()
	w := s.waiting[d]
	s.waiting[d] = nil
	s.mu.Unlock()
	if w != nil {
		w.answer <- a
	}
}

var errOther = errors.New("something else came")

// next waits for the next frame of a direction.
func (s *Stepper) next(ctx context.Context, d proxy.Direction) (*proxy.Frame, error) {
	var f *proxy.Frame
	came := s.until(ctx.Done(), func() bool {
		if w := s.waiting[d]; w != nil {
			f = w.frame
		}
		return f != nil
	})
	if !came {
		return nil, fmt.Errorf("nothing came %v", d)
	}
	return f, nil
}

// Request waits for the client's next request.
func (s *Stepper) Request(ctx context.Context) (op wire.Op, path string, err error) {
	f, err := s.next(ctx, proxy.ToServer)
	if err != nil {
		return 0, "", err
	}
	return f.Op, f.Path, nil
}

// PassRequest lets the client's next request through and waits until it has been applied.
func (s *Stepper) PassRequest(ctx context.Context) error {
	f, err := s.next(ctx, proxy.ToServer)
	if err != nil {
		return err
	}
	s.set(func() { s.replies[f.Xid] = false })
	defer s.set(func() { delete(s.replies, f.Xid) })
	s.answer(proxy.ToServer, proxy.Forward)
	if !s.until(ctx.Done(), func() bool { return s.replies[f.Xid] }) {
		return fmt.Errorf("the server has not answered the %v of %s", f.Op, f.Path)
	}
	return nil
}

// PassReply lets the next reply through and returns the code of its error.
func (s *Stepper) PassReply(ctx context.Context) (code wire.Code, err error) {
	f, err := s.pass(ctx, wire.Reply)
	if err != nil {
		return 0, err
	}
	return f.Err, nil
}

// PassEvent lets the next event of a watch through and returns its path.
func (s *Stepper) PassEvent(ctx context.Context) (path string, err error) {
	f, err := s.pass(ctx, wire.Event)
	if err != nil {
		return "", err
	}
	return f.Path, nil
}

// pass lets the next frame to the client through if it is of a kind.
func (s *Stepper) pass(ctx context.Context, kind wire.Kind) (*proxy.Frame, error) {
	f, err := s.toClient(ctx)
	switch {
	case err != nil:
		return nil, err
	case f.Kind == kind:
		s.answer(proxy.ToClient, proxy.Forward)
		return f, nil
	case f.Kind == wire.Event:
		return nil, fmt.Errorf("%w: an event of %s, and not a reply", errOther, f.Path)
	}
	return nil, fmt.Errorf("%w: the reply to a %v of %s, and not an event", errOther, f.Op, f.Path)
}

// Cut breaks the connection: what waits is lost.
func (s *Stepper) Cut() {
	s.proxy.Cut()
	s.hold(false)
}

// Connect lets the client connect to a server, once it tries, and waits until that has answered.
func (s *Stepper) Connect(ctx context.Context, server int) error {
	before := 0
	s.hold(false)
	s.Route(server)
	s.set(func() { before, s.admitting = s.connects, true })
	defer s.set(func() { s.admitting = false })
	if !s.until(ctx.Done(), func() bool { return s.connects > before }) {
		return errors.New("the client has not connected again")
	}
	return nil
}

// ConnectInVain is Connect whose answer is lost. The session that the server has begun stays until end ends it by way of
// another server, or it expires.
func (s *Stepper) ConnectInVain(ctx context.Context, server int) (end Ending, err error) {
	var begun proxy.Session
	s.set(func() { s.vain = &begun })
	defer s.set(func() { s.vain = nil })
	if err := s.Connect(ctx, server); err != nil {
		return nil, err
	}
	if begun.ID == 0 {
		return nil, errors.New("the server has begun no session")
	}
	return func(ctx context.Context, by int) (alive bool, err error) {
		return proxy.Expire(ctx, s.servers[by%len(s.servers)], begun)
	}, nil
}

// Ending ends a session by way of a server, and reports whether it was alive until then.
type Ending = func(ctx context.Context, by int) (alive bool, err error)

// Expire ends the client's session by way of one of the given servers, or if there are none of any but the client's.
// A connected client does not learn of it until Closed lets the end of its connection through, or Cut breaks it.
func (s *Stepper) Expire(ctx context.Context, by ...int) error {
	s.hold(true)
	session, before := s.proxy.Session(), time.Now()
	last := errors.New("there is no other")
	for _, address := range s.others(by) {
		if _, last = proxy.Expire(ctx, address, session); last == nil {
			s.set(func() { s.ended[session.ID] = [2]time.Time{before, time.Now()} })
			return nil
		}
	}
	return fmt.Errorf("no server has ended the session: %w", last)
}

// others returns the addresses of the servers given, or if there are none of all but the client's.
func (s *Stepper) others(by []int) (addresses []string) {
	for _, server := range by {
		addresses = append(addresses, s.servers[server%len(s.servers)])
	}
	for i := 1; i < len(s.servers) && len(by) == 0; i++ {
		addresses = append(addresses, s.after(i))
	}
	return addresses
}

// Closed lets the client learn that its server has closed the connection.
func (s *Stepper) Closed() { s.hold(false) }

// hold keeps the end of the connection from the client, and what comes before it.
func (s *Stepper) hold(held bool) {
	s.set(func() { s.held = held })
	s.proxy.Hold(proxy.ToClient, held)
}

// toClient waits for the next frame to the client. A hold is lifted meanwhile, or the frame would not come as far as
// the stepper.
func (s *Stepper) toClient(ctx context.Context) (*proxy.Frame, error) {
	s.proxy.Hold(proxy.ToClient, false)
	f, err := s.next(ctx, proxy.ToClient)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.proxy.Hold(proxy.ToClient, s.held)
	return f, err
}

// SessionEnd returns until when a session was surely alive, if Expire has ended it.
func (s *Stepper) SessionEnd(id int64) (end time.Time, over bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	times, over := s.ended[id]
	return times[0], over
}

// SessionGone returns since when a session was surely gone, if Expire has ended it.
func (s *Stepper) SessionGone(id int64) (since time.Time, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	times, known := s.ended[id]
	return times[1], known
}
