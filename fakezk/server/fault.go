package server

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/wire/strike"
)

// ErrNoSession is returned for a session that the servers do not have, or that has no connection.
var ErrNoSession = errors.New("server: there is no such session, or it has no connection")

// Expire ends a session at the servers: its ephemeral znodes are deleted, its connection is closed. The client learns
// of it when it reconnects.
func (s *Server) Expire(session int64) error {
	found := false
	s.do(func() { found = s.servers.Expire(s.now(), session) })
	return orNoSession(found, session)
}

func orNoSession(found bool, session int64) error {
	if !found {
		return fmt.Errorf("%w: 0x%x", ErrNoSession, session)
	}
	return nil
}

// cutNow is when [Server.Cut] cuts a connection at once.
const cutNow = "now"

// Cut breaks the connection of a session: now, or before or after its next request but a ping. After: the request is
// carried out, and not answered. The session lives on.
func (s *Server) Cut(session int64, when string) error {
	way, known := strike.Find(strike.Ways(strike.OnServe), strike.Loss, when)
	if when != cutNow && (!known || when != "before" && when != "after") {
		return fmt.Errorf("server: a connection cannot be cut %q: it can be cut %s, or before or after its next request",
			when, cutNow)
	}
	return s.withConnection(session, func(c *connection) {
		if when == cutNow {
			c.hangUp()
		} else {
			s.strikes.engine.Arm(c.order, way)
		}
	})
}

// Hold delays replies and events to a client until Release or the end of its connection.
func (s *Server) Hold(session int64) error {
	return s.withConnection(session, func(c *connection) { c.held = true })
}

// Release ends a Hold. Delayed messages are sent in order.
func (s *Server) Release(session int64) error {
	return s.withConnection(session, (*connection).release)
}

// withConnection calls f with the connection of a session, the newest if an older one has not ended yet.
func (s *Server) withConnection(session int64, f func(*connection)) error {
	var newest *connection
	s.do(func() {
		for _, c := range s.clients {
			if c.session == session && (newest == nil || c.id > newest.id) {
				newest = c
			}
		}
		if newest != nil {
			f(newest)
		}
	})
	return orNoSession(newest != nil, session)
}

// Lag makes a member lag behind the leader, or ends the lag. Its clients' reads and watches use its own state. The
// leader, which is the first member before an election, never lags.
func (s *Server) Lag(member int, lag bool) (err error) {
	s.do(func() {
		if s.servers.SetLag(member, lag); member == s.servers.Leader() {
			err = fmt.Errorf("server: server %d leads, and only a follower can lag", member+1)
		}
	})
	return err
}

// Depose cuts the leader off from the other members, which elect the successor. They close their connections, and
// sessions have their whole timeouts. The old leader goes on until Notice, or until syncLimit has passed: it answers
// reads and syncs as of the election, and no writes. The error says why there can be no such election.
func (s *Server) Depose(successor int) (err error) {
	s.do(func() {
		if err = s.cannotDepose(successor); err == nil {
			s.setDeposed(successor, true)
		}
	})
	return err
}

// Notice lets a deposed leader find out that it does not lead any more. It closes its connections.
func (s *Server) Notice() { s.do(func() { s.setDeposed(0, false) }) }

// setDeposed deposes the leader, or lets a deposed one notice it. mu is held.
func (s *Server) setDeposed(successor int, deposed bool) {
	if deposed {
		s.servers.Depose(s.now(), successor)
	} else {
		s.servers.Notice()
	}
}

// cannotDepose says why a member cannot depose the leader. mu is held.
func (s *Server) cannotDepose(successor int) error {
	leader, old := s.servers.Leader(), s.servers.Deposed()
	others := s.alive()
	if !s.members[leader].dead {
		others--
	}
	switch {
	case old >= 0:
		return fmt.Errorf("server: server %d is deposed, and has not noticed it yet", old+1)
	case s.noQuorum || 2*others <= len(s.members):
		return fmt.Errorf("server: without server %d, which leads, there is no majority to elect another one", leader+1)
	case successor == leader:
		return fmt.Errorf("server: server %d leads already", leader+1)
	case s.members[successor].dead:
		return fmt.Errorf("server: server %d is dead, and cannot lead", successor+1)
	}
	return nil
}

// Kill makes a member behave as dead: its connections are cut, new ones are closed at once. It keeps its port. Without
// a majority of live members none serves, see [Server.LoseQuorum].
func (s *Server) Kill(member int) { s.do(func() { s.setDead(s.members[member], true) }) }

// Restart brings back a killed member, up to date with the leader.
func (s *Server) Restart(member int) { s.do(func() { s.setDead(s.members[member], false) }) }

// setDead kills a member or brings it back. mu is held.
func (s *Server) setDead(m *member, dead bool) {
	if m.dead = dead; dead {
		if s.servers.Deposed() == m.index {
			s.servers.Notice()
		}
		s.setHanging(m, false)
		for c := range m.open {
			c.hangUp()
		}
	} else {
		s.servers.SetLag(m.index, false)
	}
	s.count()
}

// LoseQuorum makes all members stop serving: connections are closed, new ones are not answered, no session expires.
func (s *Server) LoseQuorum() { s.do(func() { s.setLost(true) }) }

// RegainQuorum ends LoseQuorum, once a majority of the members is alive. Each session has its whole timeout again.
func (s *Server) RegainQuorum() { s.do(func() { s.setLost(false) }) }

// setLost takes the quorum away, or gives it back. mu is held.
func (s *Server) setLost(lost bool) {
	s.lost = lost
	s.count()
}

// count takes the quorum away from the ensemble or gives it back. The others replace a dead leader. mu is held.
func (s *Server) count() {
	none := s.lost || 2*s.alive() <= len(s.members)
	switch {
	case none && !s.noQuorum:
		s.servers.LoseQuorum()
	case !none && s.noQuorum:
		s.servers.RegainQuorum(s.now())
	}
	s.noQuorum = none
	if leader := s.servers.Leader(); !none && s.members[leader].dead {
		s.servers.Notice()
		s.servers.Depose(s.now(), slices.IndexFunc(s.members, func(m *member) bool { return !m.dead }))
		s.servers.Notice()
	}
}

// Stop makes a member hang: it keeps its connections, and answers nothing until Resume.
func (s *Server) Stop(member int) { s.do(func() { s.setHanging(s.members[member], true) }) }

// Resume ends a Stop.
func (s *Server) Resume(member int) { s.do(func() { s.setHanging(s.members[member], false) }) }

// setHanging makes a member hang, or go on. mu is held.
func (s *Server) setHanging(m *member, hangs bool) {
	switch {
	case hangs && m.resume == nil:
		m.resume = make(chan struct{})
	case !hangs && m.resume != nil:
		close(m.resume)
		m.resume = nil
		for _, c := range s.sorted(m) {
			s.queued = append(s.queued, c.id)
		}
	}
}

// sorted are the connections of a member that have a session, in the order in which they came. mu is held.
func (s *Server) sorted(m *member) (list []*connection) {
	for _, c := range s.clients {
		if c.member == m {
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(a, b *connection) int { return int(a.id) - int(b.id) })
	return list
}

// Advance moves the servers' clock: sessions expire, empty containers and TTL znodes are removed, each when it is due.
// Connected clients count as heard from all the time, except those of hanging members and of a deposed leader.
func (s *Server) Advance(d time.Duration) {
	s.do(func() {
		end := s.now() + d.Milliseconds()
		for _, c := range s.clients {
			if c.member.resume == nil && c.member.index != s.servers.Deposed() {
				s.servers.Touch(end, c.session)
			}
		}
		for next, ok := s.servers.Deadline(); ok && next < end && !s.noQuorum; next, ok = s.servers.Deadline() {
			s.servers.Tick(max(next, s.now()))
		}
		s.ahead += d
		s.servers.Tick(end)
	})
}

// Reset makes the servers what they were at the start, with these faults that strike by themselves, nil for none. There
// are no znodes, sessions and faults by hand any more, the first member leads, and clients and their requests are counted
// anew. All connections are cut; who comes back with a session is told that it has expired. The clock goes on, and
// so do zxids: no client accepts a server that is behind what it has seen.
func (s *Server) Reset(f *Faults) (err error) {
	s.do(func() {
		if err = s.newStrikes(f); err != nil {
			return
		}
		for _, m := range s.members {
			for c := range m.open {
				c.hangUp()
			}
			m.dead = false
			s.setHanging(m, false)
		}
		s.lost, s.noQuorum, s.queued = false, false, s.queued[:0]
		s.cfg.Ensemble.SessionBase += int64(s.accepted) // no id comes twice
		seen := s.servers.Zxid()
		s.servers.Reset(s.cfg.Ensemble)
		s.servers.SkipTo(seen)
	})
	return err
}

// Inspect calls f with exclusive access to the ensemble, which it may change. Resulting messages are sent afterwards. f
// must not call the server.
func (s *Server) Inspect(f func(*fakezk.Ensemble)) { s.do(func() { f(s.servers) }) }
