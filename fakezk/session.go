package fakezk

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"slices"
)

// ErrBehind is returned by Connect when the replica has not applied what the client has seen. A real server closes
// the connection without an answer.
var ErrBehind = errors.New("fakezk: the server has not applied what the client has seen; connect to another one")

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
	ReadOnly  bool   // a server without a quorum would do, see Config.ReadOnly
}

const loopback = "127.0.0.1"

// ConnectResponse answers a ConnectRequest.
type ConnectResponse struct {
	SessionID int64 // 0: refused, the session is unknown or has expired, or the password is wrong
	Timeout   int64 // as negotiated, ms
	Password  []byte
	ReadOnly  bool // the server has no quorum
}

// session as the leader knows it.
type session struct {
	id       int64
	timeout  int64 // ms, of the last connection
	deadline int64 // ms since 1970
	owner    int   // replica of the last connection
	closed   bool
}

// sessionMask has the bits of a session's id that do not name the server that opened it.
const sessionMask = 1<<56 - 1

// Connect opens a connection to a replica. The ConnID of a refused one (SessionID 0) means nothing. The error is
// ErrBehind, ErrNoQuorum or ErrNoReplica.
//
// The steps are in the order of ZooKeeperServer.processConnectRequest: a connection of the same session to the same
// replica is closed before the password is checked.
func (e *Ensemble) Connect(now int64, replica int, r ConnectRequest) (ConnID, ConnectResponse, error) {
	to := e.replica(replica)
	if to == nil {
		return -1, ConnectResponse{}, ErrNoReplica
	}
	switch {
	case e.noQuorum:
		return e.connectReadOnly(now, replica, r)
	case e.isDeposed(replica):
		return e.connectDeposed(now, r)
	}
	if r.LastZxid > to.zxid {
		return -1, ConnectResponse{}, ErrBehind
	}
	timeout := e.negotiated(r)
	var s *session
	if r.SessionID == 0 {
		s = e.openSession(now, to, replica, timeout)
	} else if s = e.resumeSession(to, r); s == nil {
		return -1, ConnectResponse{}, nil
	}
	c := e.attach(s, replica, timeout, cmp.Or(r.Address, loopback))
	e.touch(now, s, timeout)
	return c.id, ConnectResponse{SessionID: s.id, Timeout: timeout, Password: e.passwordOf(s)}, nil
}

func (e *Ensemble) negotiated(r ConnectRequest) int64 {
	return min(max(r.Timeout, e.cfg.MinSession), e.cfg.MaxSession)
}

func (e *Ensemble) nextSessionID(r *replica, index int) int64 {
	r.sessions++
	return int64(index+1)<<56 | (e.cfg.SessionBase+r.sessions)&sessionMask
}

// openSession commits a new session. Its answer waits until the replica has applied it.
func (e *Ensemble) openSession(now int64, to *replica, index int, timeout int64) *session {
	s := &session{id: e.nextSessionID(to, index), timeout: timeout}
	i, _ := e.findSession(s.id)
	e.sessions = slices.Insert(e.sessions, i, s)
	e.edits = append(e.edits[:0], edit{op: OpCreateSession, owner: s.id})
	e.commit(transaction{time: now, session: s.id, edits: e.edits}, nil)
	e.catchUp(to)
	return s
}

// resumeSession finds the session of a reconnecting client, nil if it is refused. The leader decides, even if the
// replica has not applied the session's end.
func (e *Ensemble) resumeSession(to *replica, r ConnectRequest) *session {
	e.disconnect(to, r.SessionID, nil)
	s := e.session(r.SessionID)
	if s == nil || !bytes.Equal(r.Password, password(s.id)) {
		return nil
	}
	return s
}

// disconnect closes the connections that a session has to a replica, except one.
func (e *Ensemble) disconnect(r *replica, session int64, except *connection) {
	for i := len(r.connections) - 1; i >= 0; i-- {
		if c := r.connections[i]; c.session.id == session && c != except {
			e.hangUp(c)
		}
	}
}

// password is ZooKeeperServer.generatePasswd: the first 16 bytes of java.util.Random seeded by the session.
func password(session int64) []byte {
	const multiplier, mask = 0x5deece66d, 1<<48 - 1
	state := (uint64(session) ^ 0xb3415c00 ^ multiplier) & mask
	p := make([]byte, 0, 16)
	for range 4 {
		state = (state*multiplier + 0xb) & mask
		p = binary.LittleEndian.AppendUint32(p, uint32(state>>16))
	}
	return p
}

// passwordOf is a session's password for its client, in memory that is allocated for many at once and given out once.
func (e *Ensemble) passwordOf(s *session) []byte {
	const size = 16
	if len(e.passwords) == 0 {
		e.passwords = make([]byte, 8*size)
	}
	p := e.passwords[:size:size]
	e.passwords = e.passwords[size:]
	copy(p, password(s.id))
	return p
}

func (e *Ensemble) findSession(id int64) (int, bool) {
	return slices.BinarySearchFunc(e.sessions, id, compareSession)
}

func compareSession(s *session, id int64) int { return cmp.Compare(s.id, id) }

func (e *Ensemble) session(id int64) *session { return sessionIn(e.sessions, id) }

// sessionIn returns the session of a list by id, nil if it is not there.
func sessionIn(list []*session, id int64) *session {
	if i, ok := slices.BinarySearchFunc(list, id, compareSession); ok {
		return list[i]
	}
	return nil
}

// Alive tells whether a session exists, that is whether the leader has not ended it.
func (e *Ensemble) Alive(session int64) bool { return e.session(session) != nil }

// Touch prolongs a session, as a ping does.
func (e *Ensemble) Touch(now int64, session int64) {
	if s := cmp.Or(e.session(session), e.localByID(session)); s != nil {
		e.touch(now, s, s.timeout)
	}
}

// Ping prolongs the session of a connection, where its server keeps it: a deposed leader has nobody to tell.
func (e *Ensemble) Ping(now int64, id ConnID) {
	if c := e.connection(id); c != nil && c.open && !c.hangs && !c.session.closed {
		e.touch(now, c.session, c.timeout)
	}
}

// touch moves the deadline to the end of the tick in which the timeout will have passed
// (ExpiryQueue.roundToNextInterval): a session lives between timeout and timeout + tick.
func (e *Ensemble) touch(now int64, s *session, timeout int64) {
	s.deadline = ((now+timeout)/e.cfg.Tick + 1) * e.cfg.Tick
}

// Tick lets time pass: it expires the sessions that are due, by id, removes containers and TTL nodes that are due, and
// lets a deposed leader notice it. Without a quorum only sessions of read-only servers expire.
func (e *Ensemble) Tick(now int64) {
	if e.noQuorum {
		e.expireLocal(now)
		return
	}
	for i := 0; i < len(e.sessions); {
		if s := e.sessions[i]; s.deadline <= now {
			e.endSession(now, s, nil) // removes it from the list
		} else {
			i++
		}
	}
	if e.reapAt != 0 && e.reapAt <= now {
		e.reap(now)
	}
	if e.old.index >= 0 && e.old.noticeAt <= now {
		e.Notice()
	}
}

// Deadline returns when the next session expires, the next look at containers is due, or a deposed leader notices it;
// false if time alone changes nothing. Sessions that will be touched before are left out.
func (e *Ensemble) Deadline(touched ...int64) (int64, bool) {
	next, ok := e.reapAt, e.reapAt != 0
	if e.old.index >= 0 && (!ok || e.old.noticeAt < next) {
		next, ok = e.old.noticeAt, true
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
	s := e.session(session)
	if s == nil {
		return false
	}
	e.endSession(now, s, nil)
	return true
}

// endSession commits the end of a session and of its ephemerals. closer is the connection that asked for it, nil for
// an expiry; all others of the session are closed.
func (e *Ensemble) endSession(now int64, s *session, closer *connection) {
	i, _ := e.findSession(s.id)
	e.sessions = slices.Delete(e.sessions, i, i+1)
	s.closed = true
	e.edits = append(e.edits[:0], edit{op: OpCloseSession, owner: s.id})
	for _, path := range e.leader().ownedBy(s.id) {
		e.edits = append(e.edits, edit{op: OpDelete, path: path})
	}
	e.commit(transaction{time: now, session: s.id, edits: e.edits, closer: closer}, nil)
}
