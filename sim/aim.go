package sim

import (
	"math/bits"
	"slices"

	"github.com/zktorture/zktorture/fakezk"
)

// spot is where a fault could strike now.
type spot struct {
	fault        Faults
	kind, target int // see strikePlan
	variants     int
	client       int // whom it strikes, -1 if no client in particular
}

// spots lists where faults could strike now.
func (w *World) spots(all []spot) []spot {
	for kind := 1; kind <= bits.OnesCount16(uint16(w.faults&^Wrap)); kind++ {
		index := w.nthFault(kind)
		fault := Faults(1 << index)
		for number, t := range w.targetsOf(index) {
			all = append(all, spot{fault, kind, number, t.variants, w.victim(fault, t)})
		}
	}
	return all
}

// victim is the client that a fault strikes, -1 if none in particular.
func (w *World) victim(fault Faults, t target) int {
	client := t.client
	switch fault {
	case Lag:
		client -= w.replicas
	case Reap:
		client = -1
	}
	if client >= len(w.procs) {
		client = -1
	}
	return max(client, -1)
}

// sentBy is the request of a client that is on its way to a server; nil if there is none.
func (w *World) sentBy(client int) *fakezk.Call {
	if client < 0 {
		return nil
	}
	if c := w.procs[client].sends(); c != nil {
		return c.Sent()
	}
	return nil
}

// decisive tells whether something depends on what becomes of a client now: it is about to use what the recipe gave it;
// or its request and another client's are on their way to one znode; or it writes by what it has just read; or what it
// wrote is done, and it does not know yet.
func (w *World) decisive(victim int) bool {
	if victim < 0 {
		return false
	}
	for _, call := range w.outside {
		if call.user.process.id == victim {
			return true
		}
	}
	call := w.sentBy(victim)
	if call == nil {
		return slices.ContainsFunc(w.procs[victim].clients, func(c client) bool { return c.Waiting() > 0 })
	}
	for other := range w.procs {
		if c := w.sentBy(other); other != victim && c != nil && conflict(&call.Request, &c.Request) {
			return true
		}
	}
	return w.last == victim && !reads(call.Request.Op)
}

// anyDecisive tells whether that holds for any client.
func (w *World) anyDecisive() bool {
	for client := range w.procs {
		if w.decisive(client) {
			return true
		}
	}
	return false
}

// conflicts is an aim: faults strike where something depends on them, and rarely elsewhere.
type conflicts struct {
	rate   int // a fault strikes with probability 1/2^rate where something depends on it
	all    []spot
	weight []int
}

const (
	divisible = 2520 // by every number of targets up to ten
	elsewhere = 16   // where nothing depends on it a fault is more rarely by so much
	preferred = 4    // of its targets those on whom something depends are more likely by so much
)

func (c *conflicts) begin(s *lookingSource, allowed Faults) {
	c.rate, s.swarm = s.below(4), allowed&Faults(s.rng.Uint64())
}

func (c *conflicts) strike(s *lookingSource, w *World) strikePlan {
	if s.below(1<<c.rate) != 0 || !w.anyDecisive() && s.below(elsewhere) != 0 {
		return strikePlan{}
	}
	c.all = w.spots(c.all[:0])
	var targets [faultCount + 1]int
	for _, spot := range c.all {
		targets[spot.kind]++
	}
	c.weight = c.weight[:0]
	for _, spot := range c.all {
		c.weight = append(c.weight, w.weightOf(spot)*divisible/targets[spot.kind])
	}
	return s.drawSpot(c.all, c.weight)
}

func (*conflicts) server(s *lookingSource, _ *World, n int) int { return s.below(n) }
func (*conflicts) lag(s *lookingSource, n int) int              { return s.below(n) }

// weightOf is how likely a spot is to be chosen among those of its fault.
func (w *World) weightOf(s spot) int {
	if s.client < 0 || w.decisive(s.client) {
		return preferred
	}
	return 1
}

// drawSpot draws one of some spots by their weights, and the variant.
func (s *lookingSource) drawSpot(all []spot, weight []int) strikePlan {
	total := 0
	for _, n := range weight {
		total += n
	}
	if total == 0 {
		return strikePlan{}
	}
	at := s.below(total)
	for i, n := range weight {
		if at -= n; at < 0 {
			return strikePlan{all[i].kind, all[i].target, s.below(all[i].variants)}
		}
	}
	return strikePlan{}
}

// fits says which faults a pattern has after one: those that strike what is done to recover from it.
var fits = map[Faults]Faults{
	Loss:   Loss | Expiry | Lag | Cancel, // a lost reply, then a server that is behind
	Expiry: Loss | Expiry | Lag,          // a name is used again in a new session
	Watch:  Loss | Expiry,
	Lag:    Loss | Lag,
	Pause:  Loss | Expiry,
	Time:   Loss | Expiry,
	Reap:   Loss,
	Cancel: Loss | Expiry, // what is to be cleaned up stays
	Crash:  Loss | Lag | Crash,
	Stall:  Loss | Expiry | Cancel, // what is told first came later
}

// patterns is an aim: two or three faults strike one client, one after the other, where something depends on the first,
// which is mostly a loss or a stall. In an eighth of the episodes clients begin without a connection.
type patterns struct {
	due    []Faults // still to strike
	last   Faults   // what has struck last
	victim int      // -1 until one has been struck
	rate   int
	all    []spot
	weight []int
}

func (p *patterns) begin(s *lookingSource, allowed Faults) {
	p.due, p.last, p.victim, p.rate = p.due[:0], 0, -1, s.below(4)
	s.several, s.apart = true, s.below(8) == 0
	s.swarm = allowed & Wrap & Faults(s.rng.Uint64())
	strikes := allowed &^ Wrap
	one := s.oneOf(strikes)
	if strikes != 0 {
		one = likely(s.below(8), allowed, one)
	}
	for length := 2 + s.below(2); one != 0 && len(p.due) < length; {
		p.due, s.swarm = append(p.due, one), s.swarm|one
		if fit := fits[one] & allowed; fit != 0 && s.below(4) > 0 {
			one = s.oneOf(fit)
		} else {
			one = s.oneOf(strikes)
		}
	}
}

// likely is the fault with which a pattern begins: of eight numbers four mean a loss, two a stall, and two the other.
func likely(drawn int, allowed, other Faults) Faults {
	switch {
	case drawn < 4 && allowed.Has(Loss):
		return Loss
	case drawn < 6 && allowed.Has(Stall):
		return Stall
	}
	return other
}

func (p *patterns) strike(s *lookingSource, w *World) strikePlan {
	if len(p.due) == 0 || p.waits(w) || !p.time(s, w) {
		return strikePlan{}
	}
	p.all, p.weight = w.spots(p.all[:0]), p.weight[:0]
	for _, spot := range p.all {
		n := 0
		if spot.fault == p.due[0] && (p.victim < 0 || spot.client < 0 || spot.client == p.victim) {
			n = w.weightOf(spot)
		}
		p.weight = append(p.weight, n)
	}
	plan := s.drawSpot(p.all, p.weight)
	if p.due[0] == Loss && s.below(2) == 0 {
		plan.variant = 0 // of a request: it is carried out, and its reply is lost
	}
	for _, spot := range p.all {
		if plan.kind == spot.kind && plan.target == spot.target {
			p.last, p.due, p.victim = p.due[0], p.due[1:], max(p.victim, spot.client)
		}
	}
	return plan
}

// waits tells whether the next fault comes by itself: the victim will meet a server that is behind when it connects.
func (p *patterns) waits(w *World) bool {
	if p.due[0] != Lag || p.victim < 0 || w.procs[p.victim].crashed {
		return false
	}
	for _, c := range w.procs[p.victim].clients {
		if _, connected := c.Connected(); !connected {
			return true
		}
	}
	return false
}

// time tells whether the next fault is to strike now: the first where something depends on it; the others soon, but one
// behind a stall when something has come that the victim does not know yet.
func (p *patterns) time(s *lookingSource, w *World) bool {
	switch {
	case p.victim >= 0 && p.last == Stall && w.liesLate(p.victim):
		return true
	case p.victim >= 0 && p.last == Stall && w.sentBy(p.victim) != nil:
		return false
	case p.victim >= 0:
		return s.below(2) == 0
	}
	return s.below(1<<p.rate) == 0 && (w.anyDecisive() || s.below(4) == 0)
}

// liesLate tells whether anything lies in the channels of a client's stalled goroutines.
func (w *World) liesLate(client int) bool {
	p := w.procs[client].inProcess
	return p.StallsAny() && p.Readers() > 0 && p.Late(p.Readers()-1)
}

// server chooses the server that a client connects to: one that may be behind if that is what is due.
func (p *patterns) server(s *lookingSource, w *World, n int) int {
	at := s.below(n)
	for range n {
		if len(p.due) == 0 || p.due[0] != Lag || p.victim < 0 || w.lag[at] == unseen {
			break
		}
		at = (at + 1) % n
	}
	return at
}

// lag chooses whether the server that a client connects to is behind.
func (p *patterns) lag(s *lookingSource, n int) int {
	if len(p.due) == 0 || p.due[0] != Lag || p.victim < 0 {
		return s.below(n)
	}
	p.due = p.due[1:]
	return 1 + s.below(n-1)
}
