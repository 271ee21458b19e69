package fakezk

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/zktorture/zktorture/fakezk/wire"
)

// errBehind is returned by Connect when the replica has not applied what the client has seen. A real server closes
// the connection without an answer.
var errBehind = errors.New("fakezk: the server has not applied what the client has seen; connect to another one")

// ErrNoQuorum is returned by Connect while there is no quorum, and by a deposed leader to whom a session would be new.
// A server then closes the connection without an answer.
var ErrNoQuorum = errors.New("fakezk: there is no quorum, and the server does not serve; wait until there is one")

// ErrNoReplica is returned by Connect when the ensemble has no replica of that number.
var ErrNoReplica = errors.New("fakezk: no such replica; they are numbered from 0 to Config.Replicas-1")

// ConnectRequest opens a session, or takes one up again.
type ConnectRequest struct {
	LastZxid  int64  // of the last reply that the client has seen
	Timeout   int64  // ms
	SessionID int64  // 0 for a new session
	Password  []byte // of the session
	Address   string // of the client, for ACLs of scheme ip; default 127.0.0.1
}

const loopback = "127.0.0.1"

// ConnectResponse answers a ConnectRequest.
type ConnectResponse struct {
	SessionID int64 // 0: refused, the session is unknown or has expired, or the password is wrong
	Timeout   int64 // as negotiated, ms
	Password  []byte
}

// session as the leader knows it.
type session struct {
	id       int64
	timeout  int64 // ms, of the last connection
	deadline int64 // ms since 1970
	owner    int   // replica of the last connection
	closed   bool
}

// touch moves the deadline to the end of the tick in which the timeout will have passed
// (ExpiryQueue.roundToNextInterval): a session lives between timeout and timeout + tick.
func (s *session) touch(now, timeout, tick int64) { s.deadline = ((now+timeout)/tick + 1) * tick }

// sessionMask has the bits of a session's id that do not name the server that opened it.
const sessionMask = 1<<56 - 1

// passwordBytes is the length of a session's password.
const passwordBytes = 16

// password is ZooKeeperServer.generatePasswd: the first 16 bytes of java.util.Random seeded by the session.
func password(session int64) []byte {
	const multiplier, mask = 0x5deece66d, 1<<48 - 1
	state := (uint64(session) ^ 0xb3415c00 ^ multiplier) & mask
	p := make([]byte, 0, passwordBytes)
	for range passwordBytes / 4 {
		state = (state*multiplier + 0xb) & mask
		p = binary.LittleEndian.AppendUint32(p, uint32(state>>16))
	}
	return p
}

// sessions are those that somebody knows, by id.
type sessions []*session

func (l sessions) find(id int64) (int, bool) {
	return slices.BinarySearchFunc(l, id, func(s *session, id int64) int { return cmp.Compare(s.id, id) })
}

// byID returns nil if the session is not there.
func (l sessions) byID(id int64) *session {
	if i, ok := l.find(id); ok {
		return l[i]
	}
	return nil
}

// resumed is the session that a client goes on with; nil if it is not there, or the password is wrong.
func (l sessions) resumed(r *ConnectRequest) *session {
	if s := l.byID(r.SessionID); s != nil && bytes.Equal(r.Password, password(s.id)) {
		return s
	}
	return nil
}

func (l *sessions) add(s *session) *session {
	i, _ := l.find(s.id)
	*l = slices.Insert(*l, i, s)
	return s
}

// end closes a session and takes it out.
func (l *sessions) end(s *session) {
	s.closed = true
	if i, ok := l.find(s.id); ok {
		*l = slices.Delete(*l, i, i+1)
	}
}

func (l *sessions) reset() {
	clear(*l)
	*l = (*l)[:0]
}

// Connect opens a connection to a replica. The ConnID of a refused one (SessionID 0) means nothing. The error is
// errBehind, ErrNoQuorum or ErrNoReplica.
func (e *Ensemble) Connect(now int64, replica int, r ConnectRequest) (ConnID, ConnectResponse, error) {
	to := e.cluster.replica(replica)
	if to == nil {
		return -1, ConnectResponse{}, ErrNoReplica
	}
	answer := ConnectResponse{Timeout: min(max(r.Timeout, e.cfg.MinSession), e.cfg.MaxSession)}
	s, err := e.sessionFor(now, to, &r, answer.Timeout)
	switch {
	case err != nil:
		return -1, ConnectResponse{}, err
	case s == nil:
		return -1, ConnectResponse{}, nil
	}
	c := e.streams.attach(to, s, answer.Timeout, cmp.Or(r.Address, loopback))
	s.touch(now, answer.Timeout, e.cfg.Tick)
	answer.SessionID, answer.Password = s.id, e.streams.blocks.passwordOf(s)
	return c.id, answer, nil
}

// sessionFor opens a session for a client, or finds the one that it goes on with; nil if it is refused.
//
// The steps are in the order of ZooKeeperServer.processConnectRequest: a connection of the same session to the same
// replica is closed before the password is checked. The leader decides, even if the replica has not applied the
// session's end.
func (e *Ensemble) sessionFor(now int64, to *replica, r *ConnectRequest, timeout int64) (*session, error) {
	switch {
	case e.noQuorum:
		return nil, ErrNoQuorum
	case r.LastZxid > to.zxid:
		return nil, errBehind
	case e.cluster.old.is(to):
		return e.cluster.old.resumed(now, to, r)
	case r.SessionID == 0:
		return e.openSession(now, to, timeout), nil
	}
	to.disconnect(r.SessionID, nil)
	return e.sessions.resumed(r), nil
}

// openSession commits a new session. Its answer waits until the replica has applied it.
func (e *Ensemble) openSession(now int64, to *replica, timeout int64) *session {
	s := e.sessions.add(&session{id: to.nextSessionID(e.cfg.SessionBase), timeout: timeout})
	e.commitOne(transaction{time: now, session: s.id}, edit{op: wire.OpCreateSession, owner: s.id})
	e.cluster.catchUp(to)
	return s
}

func (r *replica) nextSessionID(base int64) int64 {
	r.sessions++
	return int64(r.index+1)<<56 | (base+r.sessions)&sessionMask
}

// disconnect closes the connections that a session has to a replica, except one.
func (r *replica) disconnect(session int64, except *connection) {
	for i := len(r.connections) - 1; i >= 0; i-- {
		if c := r.connections[i]; c.session.id == session && c != except {
			c.hangUp()
		}
	}
}

// Alive reports whether a session exists, that is whether the leader has not ended it.
func (e *Ensemble) Alive(session int64) bool { return e.sessions.byID(session) != nil }

// Touch prolongs a session, as a ping does.
func (e *Ensemble) Touch(now int64, session int64) {
	if s := e.sessions.byID(session); s != nil {
		s.touch(now, s.timeout, e.cfg.Tick)
	}
}

// Ping prolongs the session of a connection, where its server keeps it: a deposed leader has nobody to tell.
func (e *Ensemble) Ping(now int64, id ConnID) {
	if c := e.streams.byID(id); c != nil && c.open && !c.hangs && !c.session.closed {
		c.session.touch(now, c.timeout, e.cfg.Tick)
	}
}

// Tick lets time pass: it expires the sessions that are due, by id, removes containers and TTL nodes that are due, and
// lets a deposed leader notice it. Without a quorum nothing happens.
func (e *Ensemble) Tick(now int64) {
	if e.noQuorum {
		return
	}
	for i := 0; i < len(e.sessions); {
		if s := e.sessions[i]; s.deadline <= now {
			e.endSession(now, s, nil) // removes it from the list
		} else {
			i++
		}
	}
	if e.reaper.at != 0 && e.reaper.at <= now {
		e.reap(now)
	}
	if e.cluster.old.index >= 0 && e.cluster.old.noticeAt <= now {
		e.Notice()
	}
}

// Deadline returns when the next session expires, the next look at containers is due, or a deposed leader notices it;
// false if time alone changes nothing. Sessions that will be touched before are left out.
func (e *Ensemble) Deadline(touched ...int64) (int64, bool) {
	next, ok := e.reaper.at, e.reaper.at != 0
	if e.cluster.old.index >= 0 && (!ok || e.cluster.old.noticeAt < next) {
		next, ok = e.cluster.old.noticeAt, true
	}
	for _, s := range e.sessions {
		if (!ok || s.deadline < next) && !slices.Contains(touched, s.id) {
			next, ok = s.deadline, true
		}
	}
	return next, ok
}

// Expire ends a session at once, whatever its deadline. It is false if there is no such session.
func (e *Ensemble) Expire(now int64, session int64) bool {
	s := e.sessions.byID(session)
	if s == nil {
		return false
	}
	e.endSession(now, s, nil)
	return true
}

// endSession commits the end of a session and of its ephemerals. closer is the connection that asked for it, nil for
// an expiry; all others of the session are closed.
func (e *Ensemble) endSession(now int64, s *session, closer *connection) {
	e.sessions.end(s)
	edits := append(e.edits[:0], edit{op: wire.OpCloseSession, owner: s.id})
	for _, path := range e.cluster.leader().ownedBy(s.id) {
		edits = append(edits, edit{op: wire.OpDelete, path: path})
	}
	e.edits = edits
	e.commit(transaction{time: now, session: s.id, edits: edits, closer: closer}, nil)
}

// SkipTo lets the transactions of an ensemble that has none go on from a zxid.
func (e *Ensemble) SkipTo(zxid int64) {
	e.cluster.epoch = zxid >> 32
	for _, r := range e.cluster.replicas {
		r.zxid = zxid
	}
}
