package server

import (
	"fmt"
	"slices"
	"time"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/protocol"
	"github.com/zktorture/zktorture/fakezk/wire"
	"github.com/zktorture/zktorture/fakezk/wire/strike"
)

// Faults are faults that strike by themselves, at requests of clients. The members count as one: a client meets the
// same whichever it is connected to. Package strike says which requests count.
type Faults struct {
	Strike []strike.Fault      // what the seed may draw, of strike.FaultsOf
	Every  int                 // one request in so many draws one; needed if there is something to draw
	Seed   uint64              // equal seeds, equal faults for clients that do the same
	Plan   strike.Plan         // if not nil, what strikes; then nothing is drawn
	Struck func(strike.Strike) // if not nil, called for each that strikes, one at a time; it must not call the server
}

// strikes are the faults that strike by themselves, and by Cut. Server.mu guards them.
type strikes struct {
	faults Faults
	engine *strike.Engine
	counts map[strike.Fault]int // that have struck
	wounds map[wound]int        // strikes of servers that last
	late   []late               // found since the last deliver
}

// wound is what strikes a server.
type wound struct {
	kind   strike.Fault
	target int // from 1; 0: all
}

// late is what is to be done at an event that is queued for a connection.
type late struct {
	c *connection
	a strike.Action
}

func (s *Server) newStrikes(f *Faults) error {
	cfg, members := strike.Config{Fits: s.fits}, s.cfg.Ensemble.Replicas
	next := &strikes{wounds: map[wound]int{}, counts: map[strike.Fault]int{}}
	if f != nil {
		for _, fault := range f.Strike {
			if can := strike.FaultsOf(members); !slices.Contains(can, fault) {
				return fmt.Errorf("server: %s cannot strike %d servers: there are %q", fault, members, can)
			}
		}
		next.faults, cfg.Plan = *f, f.Plan
		cfg.Lottery = strike.Lottery{
			Ways: strike.Ways(strike.OnServe), Faults: f.Strike, Every: f.Every, Seed: f.Seed,
		}
		if err := cfg.Lottery.Validate(); err != nil && f.Plan == nil {
			return fmt.Errorf("server: %w", err)
		}
	}
	next.engine = strike.NewEngine(cfg)
	s.strikes, s.servers.OnEvent = next, nil
	if f != nil {
		s.servers.OnEvent = s.eventQueued
	}
	return nil
}

// frame is a frame of a connection that has its session.
func (c *connection) frame(kind wire.Kind, asked protocol.Asked) *wire.Frame {
	return &wire.Frame{
		Connection: c.order, Kind: kind, Xid: asked.Xid, Op: asked.Op, Session: c.session, Timeout: c.timeout,
	}
}

// letIn reports whether a client may connect. If it is to get no answer, it waits until that is over or the client has
// given up.
func (c *connection) letIn(session int64) bool {
	s := c.server
	s.mu.Lock()
	a := s.strikes.engine.Take(time.Now(), &wire.Frame{Connection: c.order, Kind: wire.Connect, Resumes: session})
	s.mu.Unlock()
	if a.Has(strike.Delay) {
		c.net.SetReadDeadline(time.Now().Add(a.For))
		c.in.Peek(1)
	}
	return !a.Has(strike.Cut)
}

// meet lets what a request meets strike, before the request is carried out. It waits while the connection is held, or
// its server hangs. It returns false if the connection has ended. Server.mu is held, but not meanwhile.
func (c *connection) meet(asked protocol.Asked, r *fakezk.Request) bool {
	s := c.server
	if s.clients[c.id] != c {
		return false
	}
	f := c.frame(wire.Request, asked)
	if f.Path = r.Path; len(r.Ops) > 0 {
		f.Path = r.Ops[0].Path
	}
	a := s.strikes.engine.Take(time.Now(), f)
	if a.Do == 0 {
		return true
	}
	c.carryOut(a)
	s.deliver(c)
	s.mu.Unlock()
	if a.Do&(strike.Freeze|strike.Delay) != 0 && s.wait(a.For) && a.Has(strike.Freeze) {
		s.do(func() { c.release() })
	}
	s.awake(c.member)
	return s.ctx.Err() == nil && s.clients[c.id] == c
}

// answered lets strike what was due at the answer to a connect, or at the reply to a request that has been carried out. It
// returns false if the connection has ended. Server.mu is held.
func (c *connection) answered(kind wire.Kind, asked protocol.Asked) bool {
	a := c.server.strikes.engine.Take(time.Now(), c.frame(kind, asked))
	c.carryOut(a)
	return !a.Has(strike.Cut)
}

// tell reports what strikes, if anything does.
func (c *connection) tell(x *strike.Strike) {
	if x != nil {
		x.Time, x.Server = time.Now(), c.net.LocalAddr().String()
		now := c.server.strikes
		if now.counts[x.Fault]++; now.faults.Struck != nil {
			now.faults.Struck(*x)
		}
	}
}

// carryOut does to a connection, its session and the servers what is to be done now. Server.mu is held.
func (c *connection) carryOut(a strike.Action) {
	s := c.server
	c.tell(a.Strike)
	if a.Do&(strike.Cut|strike.LoseServer) != 0 {
		c.deaf = a.Has(strike.LoseServer)
		c.drop()
	}
	if a.Has(strike.EndSession) {
		s.servers.Expire(s.now(), c.session)
	}
	if a.Has(strike.HurtServer) {
		s.wound(a.Strike)
	}
	c.held = c.held || a.Has(strike.Freeze)
}

// eventQueued notes what strikes at an event. mu is held.
func (s *Server) eventQueued(id fakezk.ConnID, _ fakezk.Message) {
	c := s.clients[id]
	if c == nil {
		return
	}
	if a := s.strikes.engine.Take(time.Now(), c.frame(wire.Event, protocol.Asked{})); a.Do != 0 {
		s.strikes.late = append(s.strikes.late, late{c, a})
		c.held = true
	}
}

// strikeEvents lets what was due at queued events strike. mu is held.
func (s *Server) strikeEvents() {
	for _, event := range s.strikes.late {
		event.c.tell(event.a.Strike)
		if event.a.Has(strike.Cut) {
			event.c.hangUp()
		} else {
			s.later(event.a.For, func() { event.c.release() })
		}
	}
	s.strikes.late = s.strikes.late[:0]
}

// fits reports whether a fault finds the follower that it takes, and an election its majority; it chooses the server of
// one that was drawn. mu is held.
func (s *Server) fits(x *strike.Strike, drawn bool, aim uint64) bool {
	leader, members := s.servers.Leader(), uint64(len(s.members))
	switch x.Fault {
	case strike.Kill, strike.Stop:
		if drawn {
			x.Target = 1 + int(aim%members)
		}
	case strike.Lag, strike.Deposed:
		if drawn {
			if x.Target = 1 + int(aim%(members-1)); x.Target > leader {
				x.Target++
			}
		}
		if x.Fault == strike.Deposed {
			return s.cannotDepose(x.Target-1) == nil
		}
		return x.Target-1 != leader
	}
	return true
}

// wound strikes a server for a while. Strikes of the same kind that overlap end with the last. mu is held.
func (s *Server) wound(x *strike.Strike) {
	w, now := wound{x.Fault, x.Target}, s.strikes
	now.wounds[w]++
	s.hurt(w, true)
	s.later(x.Lasts(), func() {
		if now.wounds[w]--; now.wounds[w] == 0 && now == s.strikes {
			s.hurt(w, false)
		}
	})
}

// Hurt has a member suffer a fault of those that strike one ([strike.OnServe]), or ends it.
func (s *Server) Hurt(f strike.Fault, member int, on bool) {
	s.do(func() { s.hurt(wound{f, member + 1}, on) })
}

func (s *Server) hurt(w wound, on bool) {
	switch w.kind {
	case strike.Lag:
		s.servers.SetLag(w.target-1, on)
	case strike.Kill:
		s.setDead(s.members[w.target-1], on)
	case strike.Stop:
		s.setHanging(s.members[w.target-1], on)
	case strike.Quorum:
		s.setLost(on)
	case strike.Deposed:
		s.setDeposed(w.target-1, on)
	}
}

// later calls f, with mu held, after a while, unless the server has ended. mu is held.
func (s *Server) later(d time.Duration, f func()) {
	s.start(func() {
		if s.wait(d) {
			s.do(f)
		}
	})
}

// wait waits. It returns false if the server has ended.
func (s *Server) wait(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-s.ctx.Done():
		return false
	}
}
