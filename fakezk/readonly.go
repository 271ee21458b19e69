package fakezk

import (
	"bytes"
	"cmp"
	"slices"
)

// Without a quorum a server with Config.ReadOnly serves read-only clients (ReadOnlyZooKeeperServer). Their sessions are
// local: no other server knows them, and they end when the quorum is back.

// connectReadOnly is Connect without a quorum. A session of the ensemble is refused without an answer: it may live on
// elsewhere (ReadOnlyZooKeeperServer.validateSession).
func (e *Ensemble) connectReadOnly(now int64, replica int, r ConnectRequest) (ConnID, ConnectResponse, error) {
	to := e.replicas[replica]
	switch {
	case !e.cfg.ReadOnly || !r.ReadOnly:
		return -1, ConnectResponse{}, ErrNoQuorum
	case r.LastZxid > to.zxid:
		return -1, ConnectResponse{}, ErrBehind
	case r.SessionID != 0 && e.session(r.SessionID) != nil:
		return -1, ConnectResponse{}, ErrNoQuorum
	}
	s := e.localSession(to, replica, r)
	if s == nil {
		return -1, ConnectResponse{ReadOnly: true}, nil
	}
	timeout := e.negotiated(r)
	c := e.attach(s, replica, timeout, cmp.Or(r.Address, loopback))
	e.touch(now, s, timeout)
	return c.id, ConnectResponse{SessionID: s.id, Timeout: timeout, Password: e.passwordOf(s), ReadOnly: true}, nil
}

// localSession opens a session at a server, or finds the one that goes on; nil if there is none.
func (e *Ensemble) localSession(to *replica, index int, r ConnectRequest) *session {
	if r.SessionID == 0 {
		s := &session{id: e.nextSessionID(to, index)}
		e.local = append(e.local, s)
		return s
	}
	e.disconnect(to, r.SessionID, nil)
	s := e.localByID(r.SessionID)
	if s == nil || s.owner != index || !bytes.Equal(r.Password, password(s.id)) {
		return nil
	}
	return s
}

func (e *Ensemble) localByID(id int64) *session {
	if i := slices.IndexFunc(e.local, func(s *session) bool { return s.id == id }); i >= 0 {
		return e.local[i]
	}
	return nil
}

// refusesReadOnly tells which requests are answered NotReadOnly (ReadOnlyRequestProcessor.run).
func refusesReadOnly(op Op) bool { return op != OpCloseSession && viaLeader(op) }

// closeLocal ends a session that is a server's own.
func (e *Ensemble) closeLocal(s *session) {
	s.closed = true
	e.local = slices.DeleteFunc(e.local, func(other *session) bool { return other == s })
}

// expireLocal ends the sessions of this kind that are due.
func (e *Ensemble) expireLocal(now int64) {
	for i := 0; i < len(e.local); {
		s := e.local[i]
		if s.deadline > now {
			i++
			continue
		}
		e.closeLocal(s)
		e.disconnect(e.replicas[s.owner], s.id, nil)
	}
}

// hangUpAll closes all connections.
func (e *Ensemble) hangUpAll() {
	for _, r := range e.replicas {
		e.hangUpServer(r)
	}
}

// hangUpServer closes all connections of a server.
func (e *Ensemble) hangUpServer(r *replica) {
	for len(r.connections) > 0 {
		e.hangUp(r.connections[len(r.connections)-1])
	}
}
