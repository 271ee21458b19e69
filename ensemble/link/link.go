// Package link is the way between one client and its servers, on which faults strike.
//
// A [Link] is a proxy with one client behind it. Faults are armed for the client's requests, counted from
// then on: the third request, whatever it is. So equal behaviour of a client meets equal faults, and a
// fault is always one that strikes while something is under way. When it strikes, and what it did, is told
// at once.
//
// A Link also knows, for each session that its client has had, until when it was surely alive: a timeout
// beyond the moment at which the last request that a server has answered was sent, unless a fault ended it.
// ZooKeeper ends a session no sooner (Programmer's Guide, "ZooKeeper Sessions"), so who held a lock under it
// held it as long. What was only sent says nothing: the session may have ended before it arrived.
//
// That is so as long as servers reach each other. One that does not reach its leader any more goes on answering
// reads and pings for a while ([Config.Alone]), which the leader, who ends sessions, does not hear of. So from
// those that much is taken off. What the leader has a part in needs no such care: a session was alive when a write
// was sent that was carried out or refused, and for a timeout from when the client connected, which servers
// ask their leader about.
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

// Fault is something that is to happen at a request.
type Fault struct {
	Kind    string        // loss, expiry or watch; or empty: nothing happens but that Begun is called
	Variant string        // see [Variants]
	Request int           // which request of the client's, from 1
	For     time.Duration // how long it lasts, if it does
	Begun   func()        // if not nil, is called when it strikes, before anything is done
}

// Variants are the ways in which each kind of fault can strike.
//
//	loss     before   the connection is cut instead of forwarding the request
//	         after    it is cut when the request has been applied, instead of its reply
//	         later    it is cut when the reply has been forwarded
//	         silence  nothing passes for so long, either way; then it is cut
//	         half     the client is cut off, and the server waits for it for so long
//	expiry   before   the session is ended instead of forwarding the request
//	         after    it is ended when the request has been applied, instead of its reply
//	         unaware  as before, and the client can reach nobody to learn it from for so long
//	watch    held     the next event comes so much later, and all that is behind it
//	         lost     the connection is cut instead of forwarding the next event
var Variants = map[string][]string{
	"loss":   {"before", "after", "later", "silence", "half"},
	"expiry": {"before", "after", "unaware"},
	"watch":  {"held", "lost"},
}

// Config says between whom a link is.
type Config struct {
	Servers []string     // addresses; with one only, a session cannot be ended
	Dial    proxy.Dialer // to servers; nil for plain TCP
	Log     *slog.Logger

	// Alone is how long a server that does not reach its leader may go on answering clients: the servers'
	// syncLimit; 0 if all of them reach each other; negative if nobody knows.
	Alone time.Duration
}

// Link is a proxy of one client. All methods may be called at any time.
type Link struct {
	proxy  *proxy.Proxy
	cfg    Config
	ending sync.WaitGroup

	mu       sync.Mutex
	armed    []Fault
	requests int
	watch    *Fault          // strikes at the next event
	after    map[int32]Fault // by request: strikes at its reply
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

// session is what is known of a session.
type session struct {
	timeout time.Duration
	heard   time.Time // when the last of its client's requests that was answered was sent …
	led     time.Time // … and the last of those which the leader had a part in …
	joined  time.Time // … and the last by which the client connected
	asked   time.Time // when somebody was first asked to end it
	ended   time.Time // not before; zero if no fault ended it
	gone    time.Time // not after; zero if that is not known
}

// New returns a link.
func New(cfg Config) (*Link, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	l := &Link{cfg: cfg, after: map[int32]Fault{}, sessions: map[int64]*session{}, sent: map[request][]time.Time{}, healed: make(chan struct{})}
	p, err := proxy.New(proxy.Config{Servers: cfg.Servers, Dial: cfg.Dial, Director: l.direct, Arrived: l.arrived, Ended: l.ended, Log: cfg.Log})
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
	l.ending.Wait()
	return err
}

// Arm lets faults strike at requests counted from now on, and forgets those armed before.
func (l *Link) Arm(faults []Fault) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.armed, l.requests, l.watch = slices.Clone(faults), 0, nil
	clear(l.after)
}

// Heal ends all that lasts, and forgets what is armed. The client can reach its servers when it returns.
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

// SessionEnd returns the moment until which a session was surely alive, if it is not the client's present
// one; of that, or one that is not known, false.
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

// SessionGone returns the moment since when a session was surely gone, if that is known.
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
	action := l.decide(done, f)
	if f.Direction == proxy.ToServer && action == proxy.Forward {
		l.send(f)
	}
	return action
}

func (l *Link) decide(done <-chan struct{}, f *proxy.Frame) proxy.Action {
	switch f.Kind {
	case proxy.Request:
		if fault, due := l.due(f); due {
			return l.atRequest(done, f, fault)
		}
	case proxy.Reply:
		if fault, due := l.dueAfter(f); due {
			return l.atReply(f, fault)
		}
	case proxy.Event:
		if fault, due := l.dueWatch(); due {
			return l.atEvent(done, fault)
		}
	}
	return proxy.Forward
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

// arrived notes what an answer says of the session: the server had heard of it when the request came.
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

// heard notes that the session's server has answered what was sent at a moment.
func (l *Link) heard(f *proxy.Frame, at time.Time) {
	s := l.sessions[f.Session]
	if s == nil {
		s = &session{}
		l.sessions[f.Session] = s
	}
	if f.Kind == proxy.Connected {
		s.timeout = f.Timeout
		l.bury(f.Session)
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

// bury notes that all sessions but the present one are gone: a client asks for another one only when it has
// been told that its own is.
func (l *Link) bury(present int64) {
	for id, s := range l.sessions {
		if id != present && s.gone.IsZero() {
			s.gone = time.Now()
		}
	}
}

// due returns the fault that strikes at a request. A fault of a watch waits for the next event then.
func (l *Link) due(f *proxy.Frame) (Fault, bool) {
	if f.Housekeeping() || f.Op == wire.OpCloseSession {
		return Fault{}, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requests++
	i := slices.IndexFunc(l.armed, func(a Fault) bool { return a.Request == l.requests })
	if i < 0 {
		return Fault{}, false
	}
	fault := l.armed[i]
	l.armed = slices.Delete(l.armed, i, i+1)
	switch {
	case fault.Kind == "watch":
		l.watch = &fault
		return Fault{}, false
	case fault.Variant == "after" || fault.Variant == "later":
		l.after[f.Xid] = fault
		return Fault{}, false
	}
	return fault, true
}

func (l *Link) dueAfter(f *proxy.Frame) (Fault, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fault, due := l.after[f.Xid]
	delete(l.after, f.Xid)
	return fault, due
}

func (l *Link) dueWatch() (Fault, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.watch == nil {
		return Fault{}, false
	}
	fault := *l.watch
	l.watch = nil
	return fault, true
}

// atRequest carries out a fault that strikes at a request.
func (l *Link) atRequest(done <-chan struct{}, f *proxy.Frame, fault Fault) proxy.Action {
	fault.begin()
	switch fault.Kind + " " + fault.Variant {
	case " ":
		return proxy.Forward
	case "loss silence":
		l.during(fault, func() { l.silence(true) }, func() { l.silence(false) })
		l.await(done, fault.For)
	case "loss half":
		l.during(fault, func() { l.proxy.CutOff(f.Connection, proxy.ToServer) }, l.proxy.CutHalfOpen)
		return proxy.Discard
	case "expiry unaware":
		l.during(fault, func() { l.proxy.Refuse(true) }, func() { l.proxy.Refuse(false) })
		l.expire(f.Session)
	case "expiry before":
		l.expire(f.Session)
	}
	return proxy.CutBefore
}

// atReply carries out a fault that strikes when a request has been applied.
func (l *Link) atReply(f *proxy.Frame, fault Fault) proxy.Action {
	fault.begin()
	if fault.Kind == "expiry" {
		l.expire(f.Session)
	}
	if fault.Variant == "later" {
		return proxy.CutAfter
	}
	return proxy.CutBefore
}

// atEvent carries out a fault that strikes at an event of a watch.
func (l *Link) atEvent(done <-chan struct{}, fault Fault) proxy.Action {
	fault.begin()
	if fault.Variant == "held" {
		l.await(done, fault.For)
		return proxy.Forward
	}
	return proxy.CutBefore
}

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
		l.ends(id) // or later, or not at all
		if alive, err := proxy.Expire(ctx, server, s); err == nil {
			l.buryOne(id, alive)
			return
		}
	}
	l.cfg.Log.Warn("no server has ended the session", "session", id)
}

// ends notes that a session may not be alive from now on, and until when it surely was.
func (l *Link) ends(id int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.sessions[id]; s.ended.IsZero() {
		s.asked = time.Now()
		s.ended = earlier(s.asked, l.alive(s))
	}
}

// buryOne notes that a session has been ended, and whether it was alive until then.
func (l *Link) buryOne(id int64, alive bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.sessions[id]
	s.gone = time.Now()
	if alive {
		s.ended = s.asked
	}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// expireMax is how long servers may take to end a session; beyond it the fault is only a cut.
const expireMax = 2 * time.Second

// during lets something last for as long as the fault does, or until the link is healed.
func (l *Link) during(fault Fault, begin, end func()) {
	begin()
	l.mu.Lock()
	healed := l.healed
	l.mu.Unlock()
	l.ending.Go(func() {
		lasts := time.NewTimer(fault.For)
		defer lasts.Stop()
		select {
		case <-lasts.C:
		case <-healed:
		}
		end()
	})
}

// silence lets nothing pass, also on connections that are opened later.
func (l *Link) silence(silent bool) {
	l.proxy.Hold(proxy.ToServer, silent)
	l.proxy.Hold(proxy.ToClient, silent)
}

// await waits for so long, or until the connection ends or the link is healed.
func (l *Link) await(done <-chan struct{}, d time.Duration) {
	l.mu.Lock()
	healed := l.healed
	l.mu.Unlock()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-healed:
	case <-done:
	}
}

func (f Fault) begin() {
	if f.Begun != nil {
		f.Begun()
	}
}
