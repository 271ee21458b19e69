package fakezk

import (
	"bytes"
	"cmp"
	"slices"
)

// deposed is a leader that has lost its majority to another one and has not noticed it: until then it serves the
// clients that reach it, from what was committed before.
//
// Invariant: its replica lags, and its connections belong to its own copies of the sessions.
type deposed struct {
	index    int // of the replica; -1: there is none
	noticeAt int64
	sessions []*session // as it knows them, by id
}

// Leader returns the replica that leads: the last one elected.
func (e *Ensemble) Leader() int { return e.leading }

// Deposed returns the leader that has been replaced and has not noticed it, -1 if there is none.
func (e *Ensemble) Deposed() int { return e.old.index }

// Depose cuts the leader off from all other servers, which elect the successor. It is false, and nothing happens, if
// they are no majority (of fewer than three servers), if there is no quorum, or a deposed leader already, or if the
// successor leads now or is none of the servers.
//
// The others have everything that was committed, close their connections and go on in a new epoch, the upper 32 bits of
// zxids; each session has its whole timeout again (Leader.lead, SessionTrackerImpl). The old leader goes on with the
// clients that it has, or that come back to it, until Notice, or a Tick Config.SyncLimit ticks later. It answers reads
// as of the election, and syncs as well: those of its own clients are not put to the others (ProposalRequestProcessor).
// No watch fires there. Writes are proposed to servers that do not listen: they are not answered, nor is what the same
// client sends behind them (CommitProcessor), and they never take effect. A write that survived, because another server
// had it in its log before the election, is to its client one whose reply is lost: let it be carried out before.
func (e *Ensemble) Depose(now int64, successor int) bool {
	if len(e.replicas) < 3 || e.noQuorum || e.old.index >= 0 || e.replica(successor) == nil || successor == e.leading {
		return false
	}
	e.old.index, e.old.noticeAt = e.leading, now+e.cfg.SyncLimit*e.cfg.Tick
	e.leader().lagging = true
	e.keepOwnSessions()
	e.elect(now, successor)
	return true
}

// keepOwnSessions gives the old leader what it knows of sessions from now on. Connections of those that have moved on
// to another server are closed at their next request; here they are at once.
func (e *Ensemble) keepOwnSessions() {
	for _, s := range e.sessions {
		own := *s
		e.old.sessions = append(e.old.sessions, &own)
	}
	for _, c := range slices.Clone(e.leader().connections) {
		if s := e.old.session(c.session.id); s != nil && s.owner == c.index {
			c.session = s
		} else {
			e.hangUp(c)
		}
	}
}

func (d *deposed) session(id int64) *session { return sessionIn(d.sessions, id) }

// forget ends the time of a deposed leader.
func (d *deposed) forget() {
	clear(d.sessions)
	d.index, d.sessions = -1, d.sessions[:0]
}

// Notice lets a deposed leader find out that it does not lead any more: it closes its connections and follows its
// successor, from whom it has everything that is committed. It is false if there is none.
func (e *Ensemble) Notice() bool {
	if e.old.index < 0 {
		return false
	}
	r := e.replicas[e.old.index]
	e.hangUpServer(r)
	e.old.forget()
	r.lagging = false
	e.catchUp(r)
	return true
}

// elect makes a server the leader of all but a deposed one. All have everything that is committed: the new leader has
// it, and the others get it before they serve (Learner.syncWithLeader).
func (e *Ensemble) elect(now int64, leader int) {
	for i, r := range e.replicas {
		if i != e.old.index {
			e.hangUpServer(r)
			e.catchUp(r)
		}
	}
	e.leading = leader
	e.leader().lagging = false
	e.admin.replica, e.admin.index = e.leader(), leader
	if len(e.replicas) > 1 { // a standalone server has no epochs
		e.epoch++
	}
	for _, s := range e.sessions {
		e.touch(now, s, s.timeout)
	}
}

// nextZxid is that of the next transaction: the first one of an epoch has the number 1.
func (e *Ensemble) nextZxid() int64 { return max(e.leader().zxid, e.epoch<<32) + 1 }

// LoseQuorum takes the majority away: every server stops serving and closes its connections, accepts none but read-only
// ones (Config.ReadOnly), and no session expires (Leader.lead gives up without a quorum for syncLimit ticks).
func (e *Ensemble) LoseQuorum() {
	e.Notice()
	e.noQuorum = true
	e.hangUpAll()
}

// RegainQuorum ends LoseQuorum. Connections to read-only servers are closed. Every server has all committed
// transactions. The leader, which is the same, begins a new epoch and gives each session its whole timeout
// (SessionTrackerImpl).
func (e *Ensemble) RegainQuorum(now int64) {
	e.noQuorum = false
	clear(e.local)
	e.local = e.local[:0]
	e.elect(now, e.leading)
}

// isDeposed tells whether a server is the deposed leader.
func (e *Ensemble) isDeposed(index int) bool { return index == e.old.index }

// connectDeposed is Connect at a deposed leader. It knows the sessions of before, whatever has become of them since,
// and takes one up without asking anybody (LeaderZooKeeperServer.revalidateSession). A new session would be a proposal,
// so its client waits in vain. One that has run out by its own clock it answers as if there were none; here the client
// gets no answer, as at a server that cannot be reached.
func (e *Ensemble) connectDeposed(now int64, r ConnectRequest) (ConnID, ConnectResponse, error) {
	to := e.replicas[e.old.index]
	if r.LastZxid > to.zxid {
		return -1, ConnectResponse{}, ErrBehind
	}
	e.disconnect(to, r.SessionID, nil)
	s := e.old.session(r.SessionID)
	if s == nil || s.deadline <= now {
		return -1, ConnectResponse{}, ErrNoQuorum
	}
	if !bytes.Equal(r.Password, password(s.id)) {
		return -1, ConnectResponse{}, nil
	}
	timeout := e.negotiated(r)
	c := e.attach(s, e.old.index, timeout, cmp.Or(r.Address, loopback))
	e.touch(now, s, timeout)
	return c.id, ConnectResponse{SessionID: s.id, Timeout: timeout, Password: e.passwordOf(s)}, nil
}

// proposed tells which requests a leader puts to the others.
func proposed(op Op) bool { return op == OpReconfig || isWrite(op) }

// Hangs tells whether a connection waits for the answer to what a deposed leader has proposed. Pings behind it are not
// answered either, so that its client gives the connection up.
func (e *Ensemble) Hangs(id ConnID) bool {
	c := e.connection(id)
	return c != nil && c.open && c.hangs
}
