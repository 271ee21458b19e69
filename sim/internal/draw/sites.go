package draw

import (
	"github.com/zktorture/zktorture/sim/world"
)

var _ = add("conflicts", "faults strike where something depends on them: two clients use one znode, or a client writes "+
	"by what it has read, or uses what the recipe gave it",
	func([]world.Choices) episodeSource { return &observing{targets: &conflicts{}} })

// conflicts targets what matters: faults strike where something depends on them, and rarely elsewhere.
type conflicts struct {
	rate   int // a fault strikes with probability 1/2^rate where something depends on it
	all    []world.Site
	weight []int
}

const (
	divisible = 2520 // by every number of targets up to ten
	elsewhere = 16   // where nothing depends on it a fault is more rarely by so much
	preferred = 4    // of its targets those on whom something depends are more likely by so much
)

func (c *conflicts) begin(s *observing, allowed world.Faults) {
	c.rate, s.swarm = s.below(4), allowed&world.Faults(s.rng.Uint64())
	s.several = s.late && c.rate > 1
}

func (c *conflicts) strike(s *observing, w *world.World) strikePlan {
	if s.below(1<<c.rate) != 0 || !w.AnyDecisive() && s.below(elsewhere) != 0 {
		return strikePlan{}
	}
	c.all = w.Sites(c.all[:0])
	var targets [world.FaultCount + 1]int
	for _, site := range c.all {
		targets[site.Kind]++
	}
	c.weight = c.weight[:0]
	for _, site := range c.all {
		c.weight = append(c.weight, weightOf(w, site)*divisible/targets[site.Kind])
	}
	return s.drawSite(c.all, c.weight)
}

func (*conflicts) server(s *observing, _ *world.World, n int) int { return s.below(n) }
func (*conflicts) lag(s *observing, n int) int                    { return s.below(n) }

// weightOf is how likely a site is to be chosen among those of its fault.
func weightOf(w *world.World, s world.Site) int {
	if s.Client < 0 || w.Decisive(s.Client) {
		return preferred
	}
	return 1
}

// drawSite draws one of some sites by their weights, and the variant.
func (s *observing) drawSite(all []world.Site, weight []int) strikePlan {
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
			return strikePlan{all[i].Kind, all[i].Target, s.below(all[i].Variants)}
		}
	}
	return strikePlan{}
}

var _ = add("patterns", "two or three faults that fit each other strike consecutive requests of one client",
	func([]world.Choices) episodeSource { return &observing{targets: &patterns{}} })

// patterns targets one client: two or three faults strike one client, one after the other, where something depends on the first,
// which is mostly a loss, a stall or an expiry. In late episodes the pattern strikes again when it is over, perhaps another client. In an
// eighth of the episodes clients begin without a connection.
type patterns struct {
	whole  []world.Faults // one after the other
	due    []world.Faults // still to strike
	last   world.Faults   // what has struck last
	victim int            // -1 until one has been struck
	asks   bool           // those after the first wait for a request of the victim's
	rate   int
	all    []world.Site
	weight []int
}

func (p *patterns) begin(s *observing, allowed world.Faults) {
	p.whole, p.last, p.victim, p.rate = p.whole[:0], 0, -1, s.below(4)
	s.several, s.apart, s.swarm = true, s.below(8) == 0, allowed&world.Wrap&world.Faults(s.rng.Uint64())
	strikes := allowed &^ world.Wrap
	one := s.oneOf(strikes)
	if strikes != 0 {
		one = likely(s.below(8), allowed, one)
	}
	for length := 2 + s.below(2); one != 0 && len(p.whole) < length; {
		p.whole, s.swarm = append(p.whole, one), s.swarm|one
		if fit := one.Then() & allowed; fit != 0 && s.below(4) > 0 {
			one = s.oneOf(fit)
		} else {
			one = s.oneOf(strikes)
		}
	}
	p.due, p.asks = p.whole, len(p.whole) > 0 && p.whole[0] != world.Stall && s.below(2) == 0
}

// likely is the fault with which a pattern begins: of eight numbers four mean a loss, two a stall, one an expiry, and one the
// other.
func likely(drawn int, allowed, other world.Faults) world.Faults {
	switch {
	case drawn < 4 && allowed.Has(world.Loss):
		return world.Loss
	case drawn < 6 && allowed.Has(world.Stall):
		return world.Stall
	case drawn < 7 && allowed.Has(world.Expiry):
		return world.Expiry
	}
	return other
}

func (p *patterns) strike(s *observing, w *world.World) strikePlan {
	if s.late && len(p.due) == 0 && s.below(8) == 0 {
		p.due, p.last, p.victim = p.whole, 0, -1
	}
	if len(p.due) == 0 || p.waits(w) || !p.time(s, w) {
		return strikePlan{}
	}
	p.all, p.weight = w.Sites(p.all[:0]), p.weight[:0]
	for _, site := range p.all {
		n := 0
		if site.Fault == p.due[0] && (p.victim < 0 || site.Client < 0 || site.Client == p.victim) {
			n = weightOf(w, site)
		}
		p.weight = append(p.weight, n)
	}
	plan := s.drawSite(p.all, p.weight)
	if p.due[0] == world.Loss && s.below(2) == 0 {
		plan.variant = 0 // of a request: it is carried out, and its reply is lost
	}
	for _, site := range p.all {
		if plan.kind == site.Kind && plan.target == site.Target {
			p.last, p.due, p.victim = p.due[0], p.due[1:], max(p.victim, site.Client)
		}
	}
	return plan
}

// waits reports whether the next fault comes by itself: the victim will meet a server that is behind when it connects.
func (p *patterns) waits(w *world.World) bool {
	return p.due[0] == world.Lag && p.victim >= 0 && w.Unconnected(p.victim)
}

// time reports whether the next fault is to strike now: the first where something depends on it; the others soon, in half
// of the patterns when the victim asks for something in a session that lives, as it does after an expiry or a loss; but one
// behind a stall when something has come that the victim does not know yet.
func (p *patterns) time(s *observing, w *world.World) bool {
	switch {
	case p.victim >= 0 && p.last == world.Stall && (w.LiesLate(p.victim) || w.SentBy(p.victim) != nil):
		return w.LiesLate(p.victim)
	case p.victim >= 0:
		return (!p.asks || p.due[0] == world.Lag || w.Asks(p.victim)) && s.below(2) == 0
	}
	return s.below(1<<p.rate) == 0 && (w.AnyDecisive() || s.below(4) == 0)
}

// server chooses the server that a client connects to: one that may be behind if that is what is due.
func (p *patterns) server(s *observing, w *world.World, n int) int {
	at := s.below(n)
	for range n {
		if len(p.due) == 0 || p.due[0] != world.Lag || p.victim < 0 || w.UnseenServer(at) {
			break
		}
		at = (at + 1) % n
	}
	return at
}

// lag chooses whether the server that a client connects to is behind.
func (p *patterns) lag(s *observing, n int) int {
	if len(p.due) == 0 || p.due[0] != world.Lag || p.victim < 0 {
		return s.below(n)
	}
	p.due = p.due[1:]
	return 1 + s.below(n-1)
}
