package fakezk

import (
	"slices"
)

// deposed is a leader that has lost its majority to another one and has not noticed it: until then it serves the
// clients that reach it, from what was committed before.
//
// Invariant: its replica lags, and its connections belong to its own copies of the sessions.
type deposed struct {
	index    int // of the replica; -1: there is none
	noticeAt int64
	sessions sessions // as it knows them
}

// Leader returns the replica that leads: the last one elected.
func (e *Ensemble) Leader() int { return e.cluster.leading }

// Deposed returns the leader that has been replaced and has not noticed it, -1 if there is none.
func (e *Ensemble) Deposed() int { return e.cluster.old.index }

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
	old, next := e.cluster.leader(), e.cluster.replica(successor)
	if len(e.cluster.replicas) < 3 || e.noQuorum || e.Deposed() >= 0 || next == nil || next == old {
		return false
	}
	old.lagging = true
	e.cluster.old.depose(old, e.sessions, now+e.cfg.SyncLimit*e.cfg.Tick)
	e.elect(now, successor)
	return true
}

// depose gives a leader what it knows of sessions from now on. Connections of those that have moved on to another
// server are closed at their next request; here they are at once.
func (d *deposed) depose(r *replica, all sessions, noticeAt int64) {
	d.index, d.noticeAt = r.index, noticeAt
	for _, s := range all {
		own := *s
		d.sessions = append(d.sessions, &own)
	}
	for _, c := range slices.Clone(r.connections) {
		if s := d.sessions.byID(c.session.id); s != nil && s.owner == r.index {
			c.session = s
		} else {
			c.hangUp()
		}
	}
}

// is reports whether a server is the deposed leader.
func (d *deposed) is(r *replica) bool { return r.index == d.index }

// resumed is the session that a client of a deposed leader goes on with. It knows the sessions of before, whatever has
// become of them since, and takes one up without asking anybody (LeaderZooKeeperServer.revalidateSession). A new
// session would be a proposal, so its client waits in vain. One that has run out by its own clock it answers as if
// there were none; here the client gets no answer, as at a server that cannot be reached.
func (d *deposed) resumed(now int64, to *replica, r *ConnectRequest) (*session, error) {
	to.disconnect(r.SessionID, nil)
	if s := d.sessions.byID(r.SessionID); s == nil || s.deadline <= now {
		return nil, ErrNoQuorum
	}
	return d.sessions.resumed(r), nil
}

// forget ends the time of a deposed leader.
func (d *deposed) forget() {
	d.index = -1
	d.sessions.reset()
}

// Notice lets a deposed leader find out that it does not lead any more: it closes its connections and follows its
// successor, from whom it has everything that is committed. It is false if there is none.
func (e *Ensemble) Notice() bool { return e.cluster.notice() }

// elect begins a new epoch, with the whole timeout for each session.
func (e *Ensemble) elect(now int64, leader int) {
	e.cluster.elect(leader)
	e.proposer.tree, e.admin.replica = &e.cluster.leader().tree, e.cluster.leader()
	for _, s := range e.sessions {
		s.touch(now, s.timeout, e.cfg.Tick)
	}
}

// LoseQuorum takes the majority away: every server stops serving and closes its connections, accepts none,
// and no session expires (Leader.lead gives up without a quorum for syncLimit ticks).
func (e *Ensemble) LoseQuorum() {
	e.Notice()
	e.noQuorum = true
	for _, r := range e.cluster.replicas {
		r.hangUpAll()
	}
}

// RegainQuorum ends LoseQuorum. Every server has all committed
// transactions. The leader, which is the same, begins a new epoch and gives each session its whole timeout
// (SessionTrackerImpl).
func (e *Ensemble) RegainQuorum(now int64) {
	e.noQuorum = false
	e.elect(now, e.Leader())
}

// Hangs reports whether a connection waits for the answer to what a deposed leader has proposed.
// Pings behind it are not answered either, so that its client gives the connection up.
func (e *Ensemble) Hangs(id ConnID) bool {
	c := e.streams.byID(id)
	return c != nil && c.open && c.hangs
}
