package chaosproxy

import (
	"maps"
	"math"
	"sync"
	"time"

	"github.com/zktorture/zktorture/fakezk/wire"
	"github.com/zktorture/zktorture/live/ensemble/proxy"
)

// record is what the frames of a client say of its sessions.
type record struct {
	alone time.Duration // see LinkConfig

	mu       sync.Mutex
	present  int64 // the session that the client was given last
	sessions map[int64]*session
	sent     map[request][]time.Time // requests without an answer, the oldest first
	resumes  map[int]int64           // by connection: the session with which the client wants to go on; 0: with none
}

func newRecord(alone time.Duration) record {
	return record{alone: alone, sessions: map[int64]*session{}, sent: map[request][]time.Time{}, resumes: map[int]int64{}}
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
	ended   time.Time // not before, by a fault
	gone    time.Time // not after
}

// SessionEnd returns until when a session was surely alive; false if it is the client's present one, or not known.
func (r *record) SessionEnd(id int64) (end time.Time, over bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.sessions[id]
	switch {
	case s == nil:
		return time.Time{}, false
	case !s.ended.IsZero():
		return s.ended, true
	}
	return r.alive(s), id != r.present
}

// alive returns until when a session was surely alive if no fault has ended it.
func (r *record) alive(s *session) time.Time {
	sure := later(s.led, s.joined.Add(s.timeout))
	if r.alone < 0 {
		return sure
	}
	return later(sure, s.heard.Add(s.timeout-r.alone))
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// Granted reports whether servers have granted the client a session: this one.
func (r *record) Granted(id int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sessions[id] != nil
}

// Joined returns when the client connected to a server last that let it; zero if it never did.
func (r *record) Joined() (last time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.sessions {
		last = later(last, s.joined)
	}
	return last
}

// SessionGone returns since when a session was surely gone, if that is known.
func (r *record) SessionGone(id int64) (since time.Time, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.sessions[id]; s != nil && !s.gone.IsZero() {
		return s.gone, true
	}
	return time.Time{}, false
}

// decided notes what is being sent to the server, and which session the client is given. Of a session that begins and
// of which it is not told it knows nothing.
func (r *record) decided(f *proxy.Frame, what proxy.Action) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch passes := what == proxy.Forward; {
	case passes && f.Direction == proxy.ToServer:
		at := requestOf(f)
		r.sent[at] = append(r.sent[at], time.Now())
		if f.Kind == wire.Connect {
			r.resumes[f.Connection] = f.Resumes
		}
	case f.Kind != wire.Connected || f.Session == 0 || f.Session == r.present:
	case passes:
		r.present = f.Session
	case what == proxy.CutBefore:
		delete(r.sessions, f.Session)
	}
}

func requestOf(f *proxy.Frame) request {
	if f.Kind == wire.Connect || f.Kind == wire.Connected {
		return request{f.Connection, connecting}
	}
	return request{f.Connection, f.Xid}
}

// arrived notes what an answer says of the session: it was alive when the request came to the server.
func (r *record) arrived(f *proxy.Frame) {
	if f.Kind != wire.Reply && f.Kind != wire.Connected {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	at := requestOf(f)
	sent := r.sent[at]
	if len(sent) == 0 {
		return
	}
	if r.sent[at] = sent[1:]; len(sent) == 1 {
		delete(r.sent, at)
	}
	if f.Session != 0 {
		r.heard(f, sent[0])
	} else if s := r.sessions[r.resumes[f.Connection]]; s != nil && s.gone.IsZero() {
		s.gone = time.Now() // its client is told so
	}
}

// forget forgets what was sent on a connection.
func (r *record) forget(connection int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.resumes, connection)
	maps.DeleteFunc(r.sent, func(at request, _ []time.Time) bool { return at.connection == connection })
}

// heard notes that the session's server has answered what was sent at a time.
func (r *record) heard(f *proxy.Frame, at time.Time) {
	s := r.sessions[f.Session]
	if s == nil {
		s = &session{}
		r.sessions[f.Session] = s
	}
	if f.Kind == wire.Connected {
		s.timeout = f.Timeout
	}
	s.heard = later(s.heard, at)
	switch {
	case f.Kind == wire.Connected:
		s.joined = later(s.joined, at)
	case f.Op.Writes() && f.Err != wire.CodeSessionExpired:
		s.led = later(s.led, at)
	}
}

// ending is called before servers are asked to end a session, and notes until when it surely was alive; ended when they
// have done so, and says whether the session was alive until then.
func (r *record) ending(id int64) (ended func(alive bool)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.sessions[id]
	if s == nil {
		return func(bool) {}
	}
	asked := time.Now()
	if s.ended.IsZero() {
		s.ended = asked
		if sure := r.alive(s); sure.Before(s.ended) {
			s.ended = sure
		}
	}
	return func(alive bool) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if s.gone = time.Now(); alive {
			s.ended = asked
		}
	}
}
