// Package turnstile lets a client's requests, the replies to them and the events of its watches pass one by one.
//
// A [Turnstile] is a proxy of one client at which somebody stands who knows in which order things are to
// happen: whoever replays, on real servers, what the simulator has found. Until it is closed everything
// passes. Then each request waits until it is let through, and so do replies and events. Pings, and what a
// client sends by itself when it connects, pass always, as far as nothing waits before them.
package turnstile

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/zktorture/zktorture/ensemble/proxy"
)

// Turnstile is a proxy of one client. Its methods are for one goroutine.
type Turnstile struct {
	proxy   *proxy.Proxy
	servers []string

	mu       sync.Mutex
	shut     bool
	dialing  bool                   // a client may connect
	connects int                    // how often it has
	waiting  [2]*waiting            // by direction, what is next
	changed  chan struct{}          // closed and replaced whenever something changes
	replies  map[int32]bool         // by number: requests that were let through, true once the reply has arrived
	ended    map[int64][2]time.Time // by session: alive until then, gone since
}

// waiting is a frame that waits to be let through.
type waiting struct {
	frame  *proxy.Frame
	answer chan proxy.Action
}

// New returns a turnstile that lets everything through.
func New(servers []string) (*Turnstile, error) {
	t := &Turnstile{servers: servers, dialing: true, changed: make(chan struct{}), replies: map[int32]bool{}, ended: map[int64][2]time.Time{}}
	p, err := proxy.New(proxy.Config{Servers: servers, Director: t.meet, Arrived: t.arrived})
	if err != nil {
		return nil, err
	}
	t.proxy = p
	return t, nil
}

// Addr is the address that the client connects to.
func (t *Turnstile) Addr() string { return t.proxy.Addr() }

// Close cuts the client off.
func (t *Turnstile) Close() error {
	t.Open()
	return t.proxy.Close()
}

// Shut lets nothing through any more but what is let through one by one.
func (t *Turnstile) Shut() { t.set(func() { t.shut, t.dialing = true, false }) }

// Open lets everything through again.
func (t *Turnstile) Open() {
	t.set(func() { t.shut, t.dialing = false, true })
	t.proxy.Hold(proxy.ToClient, false)
	for _, d := range []proxy.Direction{proxy.ToServer, proxy.ToClient} {
		t.answer(d, proxy.Forward)
	}
}

func (t *Turnstile) set(change func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	change()
	close(t.changed)
	t.changed = make(chan struct{})
}

// meet is the proxy's director.
func (t *Turnstile) meet(done <-chan struct{}, f *proxy.Frame) proxy.Action {
	switch f.Kind {
	case proxy.Connect:
		t.until(done, func() bool { return t.dialing })
		return proxy.Forward
	case proxy.Connected:
		t.set(func() { t.connects++ })
	}
	if f.Housekeeping() {
		return proxy.Forward
	}
	w := &waiting{f, make(chan proxy.Action, 1)}
	open := false
	t.set(func() {
		if open = !t.shut; !open {
			t.waiting[f.Direction] = w
		}
	})
	if open {
		return proxy.Forward
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

// arrived notes that the reply to a request has come.
func (t *Turnstile) arrived(f *proxy.Frame) {
	if f.Kind == proxy.Reply && !f.Housekeeping() {
		t.set(func() { t.replies[f.Xid] = true })
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
	t.set(func() { delete(t.replies, f.Xid) })
	t.answer(proxy.ToServer, proxy.Forward)
	if !t.until(ctx.Done(), func() bool { return t.replies[f.Xid] }) {
		return fmt.Errorf("the server has not answered the %v of %s", f.Op, f.Path)
	}
	return nil
}

// PassReply lets the next reply through and returns its error's code.
func (t *Turnstile) PassReply(ctx context.Context) (code int32, err error) {
	f, err := t.next(ctx, proxy.ToClient)
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
	f, err := t.next(ctx, proxy.ToClient)
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
func (t *Turnstile) Cut() { t.proxy.Cut() }

// Connect lets the client connect, once it tries, and waits until a server has answered.
func (t *Turnstile) Connect(ctx context.Context) error {
	before := 0
	t.set(func() { before, t.dialing = t.connects, true })
	defer t.set(func() { t.dialing = !t.shut })
	if !t.until(ctx.Done(), func() bool { return t.connects > before }) {
		return errors.New("the client has not connected again")
	}
	return nil
}

// Expire ends the client's session by way of another server. The client learns nothing of it before the end
// of its connection is let through by Closed.
func (t *Turnstile) Expire(ctx context.Context) error {
	t.proxy.Hold(proxy.ToClient, true)
	s, before := t.proxy.Session(), time.Now()
	var last error
	for _, server := range t.servers {
		if server == s.Server {
			continue
		}
		if _, last = proxy.Expire(ctx, server, s); last == nil {
			t.set(func() { t.ended[s.ID] = [2]time.Time{before, time.Now()} })
			return nil
		}
	}
	return fmt.Errorf("no server has ended the session: %w", last)
}

// Closed lets the client learn that its server has closed the connection.
func (t *Turnstile) Closed() { t.proxy.Hold(proxy.ToClient, false) }

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
