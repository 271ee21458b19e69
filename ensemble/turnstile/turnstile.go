// Package turnstile lets a client's requests, the replies to them and the events of its watches pass one by one.
//
// A [Turnstile] is a proxy of one client at which somebody stands who knows in which order things are to
// happen: whoever replays, on real servers, what the simulator has found. Until it is shut everything
// passes. Then each request waits until it is let through, and so do replies and events, and what the client
// sends by itself to set its watches again. The client connects when it is let, and to which server it is told
// to. Pings pass always, as far as nothing waits before them.
package turnstile

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/zktorture/zktorture/ensemble/proxy"
	"github.com/zktorture/zktorture/wire"
)

// Turnstile is a proxy of one client. Its methods are for one goroutine.
type Turnstile struct {
	proxy   *proxy.Proxy
	servers []string

	mu        sync.Mutex
	shut      bool
	server    int                    // to which the client is connected next
	admitting bool                   // it may connect once, although the turnstile is shut
	held      bool                   // the client does not learn of the end of its connection
	forgetful bool                   // watches are not set again
	connects  int                    // how often a server has answered
	waiting   [2]*waiting            // by direction, what is next
	changed   chan struct{}          // closed and replaced whenever something changes
	replies   map[int32]bool         // by number: requests that were let through, true once the reply has arrived
	ended     map[int64][2]time.Time // by session: alive until then, gone since
}

// waiting is a frame that waits to be let through.
type waiting struct {
	frame  *proxy.Frame
	answer chan proxy.Action
}

// routed is the address that stands for the server to which the client is to be connected.
const routed = "routed"

// New returns a turnstile that lets everything through, to the first of the servers.
func New(servers []string) (*Turnstile, error) {
	if len(servers) == 0 {
		return nil, errors.New("turnstile: there are no servers behind it")
	}
	t := &Turnstile{servers: servers, changed: make(chan struct{}), replies: map[int32]bool{}, ended: map[int64][2]time.Time{}}
	p, err := proxy.New(proxy.Config{Servers: []string{routed}, Dial: t.dial, Director: t.meet, Arrived: t.arrived})
	if err != nil {
		return nil, err
	}
	t.proxy = p
	return t, nil
}

// Addr is the address that the client connects to.
func (t *Turnstile) Addr() string { return t.proxy.Addr() }

// Close cuts the client off for good. What waits is let through before. Its session stays, unless the client has
// closed it.
func (t *Turnstile) Close() error {
	t.Open()
	return t.proxy.Close()
}

// Kill cuts the client off for good: nothing that waits gets through. Its session stays.
func (t *Turnstile) Kill() { t.proxy.Close() }

// Shut lets nothing through any more but what is let through one by one.
func (t *Turnstile) Shut() { t.set(func() { t.shut = true }) }

// Open lets everything through again.
func (t *Turnstile) Open() {
	t.set(func() { t.shut = false })
	t.hold(false)
	for _, d := range []proxy.Direction{proxy.ToServer, proxy.ToClient} {
		t.answer(d, proxy.Forward)
	}
}

// Route says to which of the servers the client is connected next.
func (t *Turnstile) Route(server int) { t.set(func() { t.server = server % len(t.servers) }) }

// Forget lets the client set none of its watches again when it connects, as libraries do that drop them with
// the connection. The client waits for an answer in vain, which go-zookeeper does in the background.
func (t *Turnstile) Forget() { t.set(func() { t.forgetful = true }) }

func (t *Turnstile) set(change func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	change()
	close(t.changed)
	t.changed = make(chan struct{})
}

// dial connects to the server in turn, when the client may connect.
func (t *Turnstile) dial(ctx context.Context, address string) (net.Conn, error) {
	if address == routed {
		if !t.until(ctx.Done(), func() bool { return !t.shut || t.admitting }) {
			return nil, ctx.Err()
		}
		address = t.after(0)
	}
	return new(net.Dialer).DialContext(ctx, "tcp", address)
}

// after is the address of the server that is so many after the client's.
func (t *Turnstile) after(n int) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.servers[(t.server+n)%len(t.servers)]
}

// meet is the proxy's director.
func (t *Turnstile) meet(done <-chan struct{}, f *proxy.Frame) proxy.Action {
	switch {
	case f.Kind == proxy.Connected:
		t.set(func() { t.connects, t.admitting = t.connects+1, false })
		return proxy.Forward
	case f.Op != wire.OpSetWatches && f.Housekeeping():
		return proxy.Forward
	}
	w := &waiting{f, make(chan proxy.Action, 1)}
	action, waits := t.queue(w)
	if !waits {
		return action
	}
	select {
	case a := <-w.answer:
		return a
	case <-done:
		t.set(func() {
			if t.waiting[f.Direction] == w {
				t.waiting[f.Direction] = nil
			}
		})
		return proxy.CutBefore
	}
}

// queue lets a frame wait, unless it is known at once what becomes of it.
func (t *Turnstile) queue(w *waiting) (action proxy.Action, waits bool) {
	t.set(func() {
		switch f := w.frame; {
		case t.forgetful && f.Op == wire.OpSetWatches && f.Kind == proxy.Request:
			action = proxy.Discard
		case !t.shut:
			action = proxy.Forward
		default:
			t.waiting[f.Direction], waits = w, true
		}
	})
	return action, waits
}

// arrived notes that the reply to a request has come.
func (t *Turnstile) arrived(f *proxy.Frame) {
	if f.Kind == proxy.Reply {
		t.set(func() {
			if _, passed := t.replies[f.Xid]; passed {
				t.replies[f.Xid] = true
			}
		})
	}
}

// until waits until something is so; false if done comes first.
func (t *Turnstile) until(done <-chan struct{}, so func() bool) bool {
	for {
		t.mu.Lock()
		if so() {
			t.mu.Unlock()
			return true
		}
		changed := t.changed
		t.mu.Unlock()
		select {
		case <-changed:
		case <-done:
			return false
		}
	}
}

// answer lets the next frame of a direction through, or not.
func (t *Turnstile) answer(d proxy.Direction, a proxy.Action) {
	t.mu.Lock()
	w := t.waiting[d]
	t.waiting[d] = nil
	t.mu.Unlock()
	if w != nil {
		w.answer <- a
	}
}

// errOther says that something else came than was to come.
var errOther = errors.New("something else came")

// next waits for the next frame of a direction.
func (t *Turnstile) next(ctx context.Context, d proxy.Direction) (*proxy.Frame, error) {
	var f *proxy.Frame
	came := t.until(ctx.Done(), func() bool {
		if w := t.waiting[d]; w != nil {
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
func (t *Turnstile) Request(ctx context.Context) error {
	_, err := t.next(ctx, proxy.ToServer)
	return err
}

// PassRequest lets the client's next request through and waits until it has been applied.
func (t *Turnstile) PassRequest(ctx context.Context) error {
	f, err := t.next(ctx, proxy.ToServer)
	if err != nil {
		return err
	}
	t.set(func() { t.replies[f.Xid] = false })
	defer t.set(func() { delete(t.replies, f.Xid) })
	t.answer(proxy.ToServer, proxy.Forward)
	if !t.until(ctx.Done(), func() bool { return t.replies[f.Xid] }) {
		return fmt.Errorf("the server has not answered the %v of %s", f.Op, f.Path)
	}
	return nil
}

// PassReply lets the next reply through and returns its error's code.
func (t *Turnstile) PassReply(ctx context.Context) (code int32, err error) {
	f, err := t.toClient(ctx)
	if err != nil {
		return 0, err
	}
	if f.Kind != proxy.Reply {
		return 0, fmt.Errorf("%w: an event of %s, and not a reply", errOther, f.Path)
	}
	t.answer(proxy.ToClient, proxy.Forward)
	return f.Err, nil
}

// PassEvent lets the next event of a watch through and returns its path.
func (t *Turnstile) PassEvent(ctx context.Context) (path string, err error) {
	f, err := t.toClient(ctx)
	if err != nil {
		return "", err
	}
	if f.Kind != proxy.Event {
		return "", fmt.Errorf("%w: the reply to a %v of %s, and not an event", errOther, f.Op, f.Path)
	}
	t.answer(proxy.ToClient, proxy.Forward)
	return f.Path, nil
}

// Cut breaks the connection: what waits is lost.
func (t *Turnstile) Cut() {
	t.proxy.Cut()
	t.hold(false)
}

// Connect lets the client connect to one of the servers, once it tries, and waits until that has answered.
func (t *Turnstile) Connect(ctx context.Context, server int) error {
	before := 0
	t.hold(false)
	t.Route(server)
	t.set(func() { before, t.admitting = t.connects, true })
	defer t.set(func() { t.admitting = false })
	if !t.until(ctx.Done(), func() bool { return t.connects > before }) {
		return errors.New("the client has not connected again")
	}
	return nil
}

// Expire ends the client's session by way of one of these servers, or else of any other than the client's. A client that is
// connected learns nothing of it before the end of its connection is let through by Closed, or it is cut.
func (t *Turnstile) Expire(ctx context.Context, by ...int) error {
	t.hold(true)
	s, before := t.proxy.Session(), time.Now()
	last := errors.New("there is no other")
	for _, address := range t.others(by) {
		if _, last = proxy.Expire(ctx, address, s); last == nil {
			t.set(func() { t.ended[s.ID] = [2]time.Time{before, time.Now()} })
			return nil
		}
	}
	return fmt.Errorf("no server has ended the session: %w", last)
}

// others returns the addresses of these servers, without any of all others than the client's.
func (t *Turnstile) others(by []int) (addresses []string) {
	for _, server := range by {
		addresses = append(addresses, t.servers[server%len(t.servers)])
	}
	for i := 1; i < len(t.servers) && len(by) == 0; i++ {
		addresses = append(addresses, t.after(i))
	}
	return addresses
}

// Closed lets the client learn that its server has closed the connection.
func (t *Turnstile) Closed() { t.hold(false) }

// hold keeps the end of the connection from the client, and whatever comes before that.
func (t *Turnstile) hold(held bool) {
	t.set(func() { t.held = held })
	t.proxy.Hold(proxy.ToClient, held)
}

// toClient waits for the next frame to the client. It comes as far as the turnstile only if nothing is held, and
// is on this side of the hold then.
func (t *Turnstile) toClient(ctx context.Context) (*proxy.Frame, error) {
	t.proxy.Hold(proxy.ToClient, false)
	f, err := t.next(ctx, proxy.ToClient)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.proxy.Hold(proxy.ToClient, t.held)
	return f, err
}

// SessionEnd returns the moment until which a session was surely alive, if Expire has ended it.
func (t *Turnstile) SessionEnd(id int64) (end time.Time, over bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	times, over := t.ended[id]
	return times[0], over
}

// SessionGone returns the moment since when a session was surely gone, if Expire has ended it.
func (t *Turnstile) SessionGone(id int64) (since time.Time, known bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	times, known := t.ended[id]
	return times[1], known
}
