// Package link is a proxy between one client and its servers, on which faults strike.
//
// Faults are armed for the client's requests, which are counted from then on. So a client that behaves equally meets
// equal faults, and a fault always strikes while something is under way. It reports at once when it strikes.
//
// A [Link] also knows, for each session of its client, until when it was surely alive: for a session timeout after
// the last request that a server answered was sent, unless a fault ended it. ZooKeeper ends no session sooner
// (Programmer's Guide, "ZooKeeper Sessions"), so whatever the session held, it held until then. A request without an
// answer says nothing: the session may have ended before it arrived.
//
// A server that has lost its leader goes on answering reads and pings for a while ([Config.Alone]). The leader, which
// ends sessions, does not hear of those, so that much is taken off. What involves the leader needs no such care: a
// session was alive when a write that was carried out or refused was sent, and for a timeout from when the client
// connected.
package link

import (
	"context"
	"log/slog"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/zktorture/zktorture/ensemble/proxy"
	"github.com/zktorture/zktorture/wire"
)

// Fault strikes at a request.
type Fault struct {
	Kind    string        // loss, expiry or watch; or empty: only Begun is called
	Variant string        // see [Variants]
	Request int           // of the client's requests, from 1
	For     time.Duration // how long it lasts, if it does
	Begun   func()        // if not nil, is called when it strikes, before anything is done
}

// Variants are the variants of each kind of fault.
//
//	loss     before   the connection is cut instead of forwarding the request
//	         after    it is cut when the request has been applied, instead of its reply
//	         later    it is cut when the reply has been forwarded
//	         silence  nothing passes either way while it lasts; then it is cut
//	         half     the client is cut off, and the server waits for it while it lasts
//	         answer   as before, and again when a server lets the client connect, instead of its answer
//	expiry   before   the session is ended instead of forwarding the request
//	         after    it is ended when the request has been applied, instead of its reply
//	         answer   as before, and when a server has begun another one the connection is cut instead of its
//	                  answer: that session lives on until it expires, and the client, which does not know of it,
//	                  begins a third
//	         unaware  as before, and the client can reach no server while it lasts, so it does not learn of it
//	watch    held     the next event is held while it lasts, with all behind it
//	         lost     the connection is cut instead of forwarding the next event
var Variants = map[string][]string{
	"loss":   {"before", "after", "later", "silence", "half", "answer"},
	"expiry": {"before", "after", "answer", "unaware"},
	"watch":  {"held", "lost"},
}

// Config configures a link.
type Config struct {
	Servers []string     // addresses; with one only, a session cannot be ended
	Dial    proxy.Dialer // to servers; nil for plain TCP
	Log     *slog.Logger

	// Alone is how long a server that has lost its leader may go on answering clients: the servers' syncLimit; 0 if
	// they all reach each other; negative if unknown.
	Alone time.Duration
}

// Link is a proxy of one client. All methods may be called at any time.
type Link struct {
	proxy   *proxy.Proxy
	cfg     Config
	lasting sync.WaitGroup

	mu       sync.Mutex
	armed    []Fault
	requests int
	watch    *Fault           // strikes at the next event
	vain     bool             // the answer that gives the client a session next is lost
	after    map[int32]*Fault // by request: strikes at its reply
	sessions map[int64]*session
	sent     map[request][]time.Time // requests without an answer, the oldest first
	healed   chan struct{}           // closed and replaced by Heal
}

// request is a number on a connection.
type request struct {
	connection int
	xid        int32
}

// connecting stands for the number of a connect request, which has none.
const connecting int32 = math.MinInt32

// session is what is known of a session. A time is zero if there is none.
type session struct {
	timeout time.Duration
	heard   time.Time // when the last request that was answered was sent …
	led     time.Time // … and the last of those that involved the leader …
	joined  time.Time // … and the last by which the client connected
	asked   time.Time // when a server was first asked to end it
	ended   time.Time // not before, by a fault
	gone    time.Time // not after
}

// New returns a link.
func New(cfg Config) (*Link, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	l := &Link{
		cfg: cfg, after: map[int32]*Fault{}, sessions: map[int64]*session{}, sent: map[request][]time.Time{},
		healed: make(chan struct{}),
	}
	p, err := proxy.New(proxy.Config{
		Servers: cfg.Servers, Dial: cfg.Dial, Director: l.direct, Arrived: l.arrived, Ended: l.ended, Log: cfg.Log,
	})
	if err != nil {
		return nil, err
	}
	l.proxy = p
	return l, nil
}

// Addr is the address that the client connects to.
func (l *Link) Addr() string { return l.proxy.Addr() }

// Close cuts the client off and ends the link.
func (l *Link) Close() error {
	l.Heal()
	err := l.proxy.Close()
	l.lasting.Wait()
	return err
}

// Arm lets faults strike at requests, which are counted from now on, and disarms the faults armed before.
func (l *Link) Arm(faults []Fault) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.armed, l.requests, l.watch, l.vain = slices.Clone(faults), 0, nil, false
	clear(l.after)
}

// Heal ends all faults and disarms the rest. The client can reach its servers when it returns.
func (l *Link) Heal() {
	l.Arm(nil)
	l.mu.Lock()
	close(l.healed)
	l.healed = make(chan struct{})
	l.mu.Unlock()
	l.silence(false)
	l.proxy.Refuse(false)
	l.proxy.CutHalfOpen()
}

// SessionEnd returns until when a session was surely alive; false if it is the client's present one, or not known.
func (l *Link) SessionEnd(id int64) (end time.Time, over bool) {
	present := l.proxy.Session().ID
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.sessions[id]
	switch {
	case s == nil:
		return time.Time{}, false
	case !s.ended.IsZero():
		return s.ended, true
	}
	return l.alive(s), id != present
}

// alive returns until when a session was surely alive if no fault has ended it.
func (l *Link) alive(s *session) time.Time {
	sure := later(s.led, s.joined.Add(s.timeout))
	if l.cfg.Alone < 0 {
		return sure
	}
	return later(sure, s.heard.Add(s.timeout-l.cfg.Alone))
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// Granted tells whether servers have granted the client a session: this one.
func (l *Link) Granted(id int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sessions[id] != nil
}

// Joined returns when the client connected to a server last that let it; zero if it never did.
func (l *Link) Joined() (last time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.sessions {
		last = later(last, s.joined)
	}
	return last
}

// SessionGone returns since when a session was surely gone, if that is known.
func (l *Link) SessionGone(id int64) (since time.Time, known bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.sessions[id]; s != nil && !s.gone.IsZero() {
		return s.gone, true
	}
	return time.Time{}, false
}

// direct is the proxy's director.
func (l *Link) direct(done <-chan struct{}, f *proxy.Frame) proxy.Action {
	action := proxy.Forward
	if fault := l.due(f); fault != nil {
		action = l.strike(done, f, fault)
	} else if l.inVain(f) {
		action = proxy.CutBefore
	}
	if f.Direction == proxy.ToServer && action == proxy.Forward {
		l.send(f)
	}
	return action
}

// inVain tells whether the answer to a connect gets lost. Of a session that begins so the client knows nothing.
func (l *Link) inVain(f *proxy.Frame) bool {
	if f.Kind != proxy.Connected || f.Session == 0 {
		return false
	}
	known := l.proxy.Session().ID
	l.mu.Lock()
	defer l.mu.Unlock()
	lost := l.vain
	if l.vain = false; lost && f.Session != known {
		delete(l.sessions, f.Session)
	}
	return lost
}

// send notes that a frame is being sent to the server.
func (l *Link) send(f *proxy.Frame) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := requestOf(f)
	l.sent[r] = append(l.sent[r], time.Now())
}

func requestOf(f *proxy.Frame) request {
	if f.Kind == proxy.Connect || f.Kind == proxy.Connected {
		return request{f.Connection, connecting}
	}
	return request{f.Connection, f.Xid}
}

// arrived notes what an answer says of the session: it was alive when the request came to the server.
func (l *Link) arrived(f *proxy.Frame) {
	if f.Kind != proxy.Reply && f.Kind != proxy.Connected {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	r := requestOf(f)
	sent := l.sent[r]
	if len(sent) == 0 {
		return
	}
	if l.sent[r] = sent[1:]; len(sent) == 1 {
		delete(l.sent, r)
	}
	if f.Session != 0 {
		l.heard(f, sent[0])
	}
}

// ended forgets what was sent on a connection.
func (l *Link) ended(connection int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.sent, func(r request, _ []time.Time) bool { return r.connection == connection })
}

// heard notes that the session's server has answered what was sent at a time.
func (l *Link) heard(f *proxy.Frame, at time.Time) {
	s := l.sessions[f.Session]
	if s == nil {
		s = &session{}
		l.sessions[f.Session] = s
	}
	if f.Kind == proxy.Connected {
		s.timeout = f.Timeout
		l.othersGone(f.Session)
	}
	s.heard = later(s.heard, at)
	switch {
	case f.Kind == proxy.Connected:
		s.joined = later(s.joined, at)
	case f.Op.Writes() && f.Err != sessionExpired:
		s.led = later(s.led, at)
	}
}

// sessionExpired is the code of the error of a request whose session is over: KeeperException.Code.
const sessionExpired = -112

// othersGone notes that all sessions but the present one are gone: a client asks for another only when it has been
// told that its own is.
func (l *Link) othersGone(present int64) {
	for id, s := range l.sessions {
		if id != present && s.gone.IsZero() {
			s.gone = time.Now()
		}
	}
}

// due returns the fault that strikes at a frame, nil if none does.
func (l *Link) due(f *proxy.Frame) (fault *Fault) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch f.Kind {
	case proxy.Request:
		return l.dueAtRequest(f)
	case proxy.Reply:
		fault = l.after[f.Xid]
		delete(l.after, f.Xid)
	case proxy.Event:
		fault, l.watch = l.watch, nil
	}
	return fault
}

// dueAtRequest counts a request. A fault that is armed for its reply or for the next event waits for that. It needs
// l.mu.
func (l *Link) dueAtRequest(f *proxy.Frame) *Fault {
	if f.Housekeeping() || f.Op == wire.OpCloseSession {
		return nil
	}
	l.requests++
	i := slices.IndexFunc(l.armed, func(a Fault) bool { return a.Request == l.requests })
	if i < 0 {
		return nil
	}
	fault := l.armed[i]
	l.armed = slices.Delete(l.armed, i, i+1)
	switch {
	case fault.Kind == "watch":
		l.watch = &fault
		return nil
	case fault.Variant == "after" || fault.Variant == "later":
		l.after[f.Xid] = &fault
		return nil
	}
	return &fault
}

// strike carries out a fault at the frame for which it was due.
func (l *Link) strike(done <-chan struct{}, f *proxy.Frame, fault *Fault) proxy.Action {
	if fault.Begun != nil {
		fault.Begun()
	}
	if fault.Variant == "answer" {
		l.mu.Lock()
		l.vain = true
		l.mu.Unlock()
	}
	switch fault.Kind + " " + fault.Variant {
	case " ":
		return proxy.Forward
	case "loss later":
		return proxy.CutAfter
	case "loss silence":
		l.during(fault, func() { l.silence(true) }, func() { l.silence(false) })
		wait(fault.For, l.healing(), done)
	case "loss half":
		l.during(fault, func() { l.proxy.CutOff(f.Connection, proxy.ToServer) }, l.proxy.CutHalfOpen)
		return proxy.Discard
	case "expiry unaware":
		l.during(fault, func() { l.proxy.Refuse(true) }, func() { l.proxy.Refuse(false) })
		l.expire(f.Session)
	case "expiry before", "expiry after", "expiry answer":
		l.expire(f.Session)
	case "watch held":
		wait(fault.For, l.healing(), done)
		return proxy.Forward
	}
	return proxy.CutBefore
}

// expireMax bounds how long servers may take to end a session; after that the fault is only a cut.
const expireMax = 2 * time.Second

// expire ends a session by way of another server than its client's.
func (l *Link) expire(id int64) {
	s := l.proxy.Session()
	if s.ID != id {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), expireMax)
	defer cancel()
	for _, server := range l.cfg.Servers {
		if server == s.Server {
			continue
		}
		l.expiring(id)
		if alive, err := proxy.Expire(ctx, server, s); err == nil {
			l.expired(id, alive)
			return
		}
	}
	l.cfg.Log.Warn("no server has ended the session", "session", id)
}

// expiring notes that a session may end from now on, and until when it surely was alive.
func (l *Link) expiring(id int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.sessions[id]
	if !s.ended.IsZero() {
		return
	}
	s.asked = time.Now()
	s.ended = s.asked
	if sure := l.alive(s); sure.Before(s.ended) {
		s.ended = sure
	}
}

// expired notes that a session has been ended, and whether it was alive until then.
func (l *Link) expired(id int64, alive bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.sessions[id]
	s.gone = time.Now()
	if alive {
		s.ended = s.asked
	}
}

// during lets something last as long as the fault does, or until the link is healed.
func (l *Link) during(fault *Fault, begin, end func()) {
	begin()
	healed := l.healing()
	l.lasting.Go(func() {
		wait(fault.For, healed, nil)
		end()
	})
}

// silence lets nothing pass, also on connections that are opened later.
func (l *Link) silence(silent bool) {
	l.proxy.Hold(proxy.ToServer, silent)
	l.proxy.Hold(proxy.ToClient, silent)
}

// healing is closed when the link is healed.
func (l *Link) healing() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.healed
}

// wait waits for a time, or until one of two channels is closed.
func wait(long time.Duration, a, b <-chan struct{}) {
	timer := time.NewTimer(long)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-a:
	case <-b:
	}
}
