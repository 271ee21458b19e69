package server

import (
	"fmt"
	"slices"
	"time"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/protocol"
	"github.com/zktorture/zktorture/wire"
	"github.com/zktorture/zktorture/wire/strike"
)

// Ways are the ways of the faults that strike by themselves, see [Faults].
//
//	loss    before   the connection is cut, and the request is not carried out
//	        after    it is cut when the request has been carried out, without an answer
//	        idle     it is cut at the next ping
//	        deaf     the server forgets the connection, and the client waits for it
//	        answer   as before, and when a server lets the client connect again, it is cut instead of the answer
//	hold    short    nothing passes either way, for less than the session timeout
//	        long     for more: the session expires, and its client cannot know
//	refuse           the connection is cut, and for a while so is every new one of the session
//	stall            the connection is cut, and for a while new ones of the session get no answer
//	watch   held     the next event of a watch comes late, and all that is behind it
//	        lost     the connection is cut instead of sending the next event
//	expiry  before   the session is ended, and the request is not carried out
//	        after    it is ended when the request has been carried out, without an answer
//	        unaware  as before, and the client is kept away for a while, so that it does not learn of it
//	lag              a follower falls behind for a while: it applies only what is written through it
//	kill             a server is dead for a while, as by Kill
//	stop    short    a server hangs, as by Stop, for less than the session timeout
//	        long     for more: sessions that it serves expire
//	quorum           no server serves for a while, as by LoseQuorum
//	deposed          the leader is replaced and for a while does not know it, as by Depose
var Ways = slices.Concat(strike.Everywhere, []strike.Way{
	{Fault: strike.Expiry, Variant: "unaware", Least: 0.1, Most: 1.5},
	{Fault: strike.Lag, Least: 0.1, Most: 1.5},
	{Fault: strike.Kill, Least: 0.1, Most: 1.5},
	{Fault: strike.Stop, Variant: "short", Least: 0.05, Most: 0.8},
	{Fault: strike.Stop, Variant: "long", Least: 1.2, Most: 2},
	{Fault: strike.Quorum, Least: 0.1, Most: 1.5},
	{Fault: strike.Deposed, Least: 0.1, Most: 1.5},
})

// FaultsOf lists the faults that can strike so many members. A lag takes a follower, an election a majority without
// the leader.
func FaultsOf(members int) (faults []strike.Fault) {
	least := map[strike.Fault]int{strike.Lag: 2, strike.Deposed: 3}
	for _, w := range Ways {
		if members >= least[w.Fault] {
			faults = append(faults, w.Fault)
		}
	}
	return slices.Compact(faults)
}

// Faults are faults that strike by themselves, at requests of clients. The members count as one: a client meets the
// same whichever it is connected to. Package strike says which requests count.
type Faults struct {
	Strike []strike.Fault      // what the seed may draw, of FaultsOf
	Odds   strike.Odds         // needed if there is something to draw
	Seed   uint64              // equal seeds, equal faults for clients that do the same
	Plan   strike.Plan         // if not nil, what strikes; then nothing is drawn
	Struck func(strike.Strike) // called for each fault that strikes, one at a time; it must not call the server
}

// chance lets faults strike. Server.mu guards it.
type chance struct {
	Faults
	lottery     strike.Lottery
	members     int
	clients     map[int64]*client // by session
	opened      int               // clients
	connections int
	bars        map[int64]bar // by session
	wounds      map[wound]int // strikes of servers that last
	late        []late        // found since the last deliver
}

// client is the client of a session, across its connections.
type client struct {
	number  int
	counter strike.Counter
	vain    bool // the answer to its next connect is lost
}

// bar keeps a client away from the servers.
type bar struct {
	kind  strike.Fault // Refuse or Stall
	until time.Time
}

// wound is what strikes a server.
type wound struct {
	kind   strike.Fault
	target int // from 1; 0: all
}

// late is an event that is queued for a connection and strikes.
type late struct {
	c *connection
	x *strike.Strike
}

func newChance(f *Faults, members int) (*chance, error) {
	if f == nil {
		return nil, nil
	}
	for _, fault := range f.Strike {
		if can := FaultsOf(members); !slices.Contains(can, fault) {
			return nil, fmt.Errorf("server: %s cannot strike %d servers: there are %q", fault, members, can)
		}
	}
	if err := f.Odds.Validate(); err != nil && f.Plan == nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	return &chance{
		Faults: *f, lottery: strike.Lottery{Ways: Ways, Faults: f.Strike, Odds: f.Odds, Seed: f.Seed}, members: members,
		clients: map[int64]*client{}, bars: map[int64]bar{}, wounds: map[wound]int{},
	}, nil
}

// watchOut makes the ensemble tell of what chance needs to know.
func (s *Server) watchOut() {
	s.servers.OnCommit = func(change fakezk.Change) {
		if change.Op == fakezk.OpCloseSession {
			delete(s.chance.clients, change.Session)
		}
	}
	s.servers.OnEvent = func(id fakezk.ConnID, _ fakezk.Message) {
		if c := s.clients[id]; c != nil && c.watch != nil {
			s.chance.late = append(s.chance.late, late{c, c.watch})
			c.watch, c.held = nil, true
		}
	}
}

// greet gives a connection its client, and tells whether the answer to it is lost; began says that the session has just
// begun. mu is held.
func (f *chance) greet(c *connection, began bool) (lost bool) {
	f.connections++
	c.number = f.connections
	if c.client = f.clients[c.session]; c.client == nil {
		f.opened++
		c.client = &client{number: f.opened}
		f.clients[c.session] = c.client
	}
	if began && f.losesHello(c) {
		return true
	}
	lost, c.client.vain = c.client.vain, false
	return lost
}

// losesHello tells whether the answer is lost that tells a client of its session, and reports that.
func (f *chance) losesHello(c *connection) bool {
	x, lost := f.Plan[strike.Place{Client: c.client.number, Request: strike.Hello}]
	if f.Plan == nil {
		x, lost = strike.Strike{Fault: strike.Loss, Variant: strike.Answer}, f.lottery.DrawHello(c.client.number)
	}
	if lost {
		c.places(&x, strike.Hello)
		f.tell(&x)
	}
	return lost
}

// places adds to a strike where it strikes.
func (c *connection) places(x *strike.Strike, request int) {
	x.Client, x.Request, x.Connection = c.client.number, request, c.number
	x.Session, x.Server = sessionName(c.session), c.net.LocalAddr().String()
}

// keptAway tells whether a session is kept away. If its connections are to get no answer, it waits until the session is
// no longer kept away, or the client has given up.
func (s *Server) keptAway(c *connection, session int64) bool {
	if s.chance == nil {
		return false
	}
	s.mu.Lock()
	barred := s.chance.bars[session]
	s.mu.Unlock()
	if barred.kind == strike.Stall {
		c.net.SetReadDeadline(barred.until)
		c.in.Peek(1)
	}
	return barred.kind != ""
}

// keepAway keeps the client of a session away for a while. mu is held.
func (s *Server) keepAway(session int64, kind strike.Fault, lasts time.Duration) {
	until := time.Now().Add(lasts)
	s.chance.bars[session] = bar{kind, until}
	s.later(lasts, func() {
		if s.chance.bars[session].until.Equal(until) {
			delete(s.chance.bars, session)
		}
	})
}

// meet lets what a request has drawn strike, before the request is carried out. It waits while its connection is held.
func (s *Server) meet(c *connection, asked protocol.Asked, r *fakezk.Request) {
	if s.chance == nil {
		return
	}
	s.awake(c.member)
	var hold time.Duration
	if x := s.due(c, asked, r); x != nil && s.ctx.Err() == nil {
		hold = s.strike(c, x)
		s.deliver(c)
	}
	s.mu.Unlock()
	if hold > 0 && s.wait(hold) {
		s.do(func() { s.release(c) })
	}
}

// due returns what strikes at a request, nil if nothing does. mu is held.
func (s *Server) due(c *connection, asked protocol.Asked, r *fakezk.Request) (x *strike.Strike) {
	switch {
	case s.clients[c.id] != c:
		return nil
	case asked.Op == wire.OpPing:
		x, c.idle = c.idle, nil
		return x
	case !strike.Counts(asked.Op):
		return nil
	}
	x = s.chance.next(c, asked, r, s.servers.Leader())
	switch {
	case x == nil || !s.canStrike(x):
		return nil
	case x.Fault == strike.Watch:
		c.watch, x = x, nil
	case x.Variant == "idle":
		c.idle, x = x, nil
	}
	return x
}

// next is what a client's next request meets.
func (f *chance) next(c *connection, asked protocol.Asked, r *fakezk.Request, leader int) *strike.Strike {
	gap := c.client.counter.Next()
	x, due := f.Plan[strike.Place{Client: c.client.number, Request: c.client.counter.Requests}]
	if f.Plan == nil {
		x, due = f.draw(c, gap, leader)
	}
	if !due {
		return nil
	}
	c.places(&x, c.client.counter.Requests)
	if x.Op, x.Path = asked.Op.String(), r.Path; len(r.Ops) > 0 {
		x.Path = r.Ops[0].Path
	}
	return &x
}

func (f *chance) draw(c *connection, gap time.Duration, leader int) (x strike.Strike, due bool) {
	what, due := f.lottery.Draw(c.client.number, c.client.counter.Requests, gap)
	x.Fault, x.Variant, x.ForMS = what.Fault, what.Variant, what.Lasts(c.timeout)
	switch x.Fault {
	case strike.Kill, strike.Stop:
		x.Target = 1 + int(what.Aim%uint64(f.members))
	case strike.Lag, strike.Deposed:
		if x.Target = 1 + int(what.Aim%uint64(f.members-1)); x.Target > leader {
			x.Target++
		}
	}
	return x, due
}

// canStrike tells whether a fault finds the follower that it takes, and an election its majority. mu is held.
func (s *Server) canStrike(x *strike.Strike) bool {
	switch x.Fault {
	case strike.Lag:
		return x.Target-1 != s.servers.Leader()
	case strike.Deposed:
		return s.cannotDepose(x.Target-1) == nil
	}
	return true
}

func (f *chance) tell(x *strike.Strike) {
	x.Time = time.Now()
	f.Struck(*x)
}

// strike carries a fault out. It returns how long it holds the connection. mu is held.
func (s *Server) strike(c *connection, x *strike.Strike) (hold time.Duration) {
	s.chance.tell(x)
	switch x.Fault {
	case strike.Loss:
		s.lose(c, x.Variant)
	case strike.Hold:
		c.held = true
		return x.Lasts()
	case strike.Refuse, strike.Stall:
		s.keepAway(c.session, x.Fault, x.Lasts())
		s.hangUp(c)
	case strike.Expiry:
		s.expire(c, x)
	default:
		s.wound(x)
	}
	return 0
}

// lose loses a connection in a variant of loss. mu is held.
func (s *Server) lose(c *connection, variant string) {
	switch variant {
	case "after":
		c.cut = CutAfter
	case "deaf":
		c.deaf = true
		s.drop(c)
	case strike.Answer:
		c.client.vain = true
		s.hangUp(c)
	default:
		s.hangUp(c)
	}
}

// expire ends the session of a connection in a variant of expiry. mu is held.
func (s *Server) expire(c *connection, x *strike.Strike) {
	switch x.Variant {
	case "after":
		c.cut = expireAfter
		return
	case "unaware":
		s.keepAway(c.session, strike.Refuse, x.Lasts())
		s.hangUp(c)
	}
	s.servers.Expire(s.now(), c.session)
}

// wound strikes a server for a while. Strikes of the same kind that overlap end with the last. mu is held.
func (s *Server) wound(x *strike.Strike) {
	w := wound{x.Fault, x.Target}
	s.chance.wounds[w]++
	s.hurt(w, true)
	s.later(x.Lasts(), func() {
		if s.chance.wounds[w]--; s.chance.wounds[w] == 0 {
			s.hurt(w, false)
		}
	})
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

// strikeEvents lets the events that have been queued strike. mu is held.
func (s *Server) strikeEvents() {
	if s.chance == nil {
		return
	}
	for _, event := range s.chance.late {
		s.chance.tell(event.x)
		if event.x.Variant == "lost" {
			s.hangUp(event.c)
		} else {
			s.later(event.x.Lasts(), func() { s.release(event.c) })
		}
	}
	s.chance.late = s.chance.late[:0]
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
