package certify

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zktorture/zktorture/internal/digest"
	"github.com/zktorture/zktorture/sim/world"
)

// What a state is, and which steps a search takes in one, said anew.

// Extends and Parts say what the next choice is about, and Planned that the episode is drawn.
func (p *player) Extends() { p.ofExtent = true }
func (p *player) Parts()   { p.ofPart = true }

func (p *player) Planned(w *world.View, drawn int) {
	p.view, p.planned = w, true
	var d digest.Sum
	sum, plans, known := w.PlanHash(true)
	if p.plans = plans; known {
		d.Int(int64(sum))
		p.made = p.made[:drawn]
	}
	for _, v := range p.made {
		d.Int(int64(v))
	}
	p.plan = uint64(d)
}

// chosen notes what a choice says.
func (p *player) chosen(v int, label string) {
	p.ofExtent, p.ofPart = false, false
	if !p.planned {
		p.made = append(p.made, v)
	}
	switch label {
	case world.LabelFault:
		p.kind = v
		p.left -= min(v, 1)
	case world.LabelLagging:
		p.left -= min(v, 1)
	case world.LabelUnconnected:
		p.left -= min(max(v-world.BeginVariants, 0), 1)
	case world.LabelNext:
		if p.view.Actions()[v].Kind == world.ActRegain { // these go on waiting
			p.waits |= p.view.AwaitingQuorum()
		}
	}
}

// key is the hash of the present state.
func (p *player) key() (key uint64, finished bool) {
	w, finished := p.view, true
	servers, lines, clients := w.StateHash(w.ServersMatter(p.left > 0), nil, nil)
	var all, s digest.Sum
	s.Ints(int64(servers), int64(p.plan), int64(p.left), int64(p.waits), int64(p.been))
	if w.Outage() {
		w.Collect()
		s.Int(int64(w.AwaitingQuorum()))
	}
	all.Ints(int64(s), int64(p.later()), int64(p.past.order), int64(p.past.returns+p.past.own), int64(p.past.back+p.past.giving))
	for i, hash := range clients {
		unfinished, server := w.Standing(i)
		var c digest.Sum
		c.Ints(int64(i), int64(hash), int64(server))
		c.Bool(unfinished)
		all.Ints(int64(lines[i]), int64(c))
		finished = finished && !unfinished
	}
	return uint64(all), finished
}

// equal reports whether two clients, the second of which has the larger number, have done nothing yet and are as good as
// each other: they have equal plans and are at the same server, and none from the first to the second has begun alone.
func (p *player) equal(a, b int) bool {
	acted, alone := p.view.Begun()
	_, serverOfA := p.view.Standing(a)
	_, serverOfB := p.view.Standing(b)
	return p.plans[a] == p.plans[b] && acted>>a&1 == 0 && acted>>b&1 == 0 && alone&(1<<b-1<<a) == 0 && serverOfA == serverOfB
}

// later are the clients, as bits, that leave what is next to an equal one with a larger number.
func (p *player) later() (all uint64) {
	for b := range p.plans {
		for a := range b {
			if p.equal(a, b) {
				all |= 1 << a
			}
		}
	}
	return all
}

// offers are the deeds of which steps are taken in the present state.
func (p *player) offers(finished bool) (take []string) {
	if finished {
		return []string{"0 0 over"}
	}
	w, later := p.view, p.later()
	leaves := func(client int) bool { return client >= 0 && later>>client&1 != 0 }
	w.Collect()
	actions := w.Actions()
	for _, a := range actions {
		waits := a.Kind == world.ActReconnect && p.waits>>a.Client&1 != 0 ||
			a.Kind == world.ActRegain && w.LongOutage() && w.AwaitingQuorum() != 0
		switch {
		case len(actions) > 1 && waits:
		case len(actions) > 1 && !a.OfServer() && leaves(a.Client):
			p.twin(a.Client, func(client int) bool {
				a.Client = client
				return slices.Contains(actions, a)
			}, a)
		default:
			take = append(take, fmt.Sprintf("0 0 %v", a))
		}
	}
	if len(actions) == 0 {
		take = append(take, fmt.Sprintf("0 0 %v", world.Idling))
	}
	if p.left == 0 {
		return take
	}
	sites := w.Sites(nil)
	for kind, f := range w.Striking() {
		var targets []world.Target
		w.CanStrike(f, func(t world.Target) bool { targets = append(targets, t); return false })
		here := sites[:len(targets)]
		sites = sites[len(targets):]
		for i, t := range targets {
			if len(targets) > 1 && leaves(here[i].Client) {
				p.twin(here[i].Client, func(client int) bool {
					return slices.ContainsFunc(here, func(s world.Site) bool { return s.Client == client && s.Variants == here[i].Variants })
				}, t)
				continue
			}
			p.kind = kind
			for _, v := range p.options(here[i].Variants, world.LabelVariant) {
				take = append(take, fmt.Sprintf("%d %d %v", kind, v, t))
			}
		}
	}
	return take
}

// twin checks that an equal client can do what one leaves to it.
func (p *player) twin(client int, can func(other int) bool, what any) {
	for other := client + 1; other < len(p.plans); other++ {
		if p.equal(client, other) && can(other) {
			return
		}
	}
	p.refute("client %d leaves %+v to one that cannot do that", client, what)
}

// options are those that are taken of n.
func (p *player) options(n int, label string) (take []int) {
	letter, ofUser := strings.CutPrefix(label, world.LabelPlan)
	ofWorld := slices.Contains([]string{world.LabelWraps, world.LabelCounters, world.LabelFirstNumber}, label)
	switch w := p.view; {
	case label == world.LabelSwarm:
		return []int{1}
	case label == world.LabelAtMost:
		return []int{min(max(p.claim.AtMost, 1), n) - 1}
	case label == world.LabelShared && p.claim.Users < 2,
		p.left == 0 && (label == world.LabelUnconnected || label == world.LabelLagging):
		return []int{0}
	case label == world.LabelShared:
		return []int{0, n - 1}
	case label == world.LabelUnconnected:
		return []int{0, world.BeginVariants + world.BeginUnconnected, world.BeginVariants + world.BeginAlone}
	case label == world.LabelVariant && w.NthFault(p.kind) == world.Stall:
		return []int{world.StallShort}
	case label == world.LabelVariant && w.NthFault(p.kind) == world.Deposed:
		return []int{world.DeposedBrief}
	case label == world.LabelReplica: // of equal servers the first, and not a deposed leader that was left
		for r := range n {
			equal := func(other int) bool { return w.EqualServers(r, other, p.left > 0) }
			if (r != w.Servers().Deposed() || p.been>>w.Dialler()&1 == 0) && !slices.ContainsFunc(take, equal) {
				take = append(take, r)
			}
		}
		return slices.DeleteFunc(take, p.outOfOrder)
	case !p.claim.Plain || p.planned || ofWorld:
	case label == world.LabelClients || p.ofExtent:
		return []int{n - 1}
	case p.ofPart && ofUser && len(letter) == 1:
		return []int{int(letter[0]-'a') % n}
	default:
		return []int{0}
	}
	for v := range n {
		take = append(take, v)
	}
	return take
}

// outOfOrder reports whether a client with the plan of the one that begins has begun at a later server, before any fault.
func (p *player) outOfOrder(server int) bool {
	b := p.view.Dialler()
	for a := range p.plans[:min(b, len(p.plans))] {
		if _, at := p.view.Standing(a); p.met == 0 && p.left == p.claim.AtMost && p.plans[a] == p.plans[b] && at > server {
			return true
		}
	}
	return false
}

// past is the history. What is given back is compared with calls, and not with what others do to znodes of their own.
type past struct {
	order, returns, own, back, giving uint64
	count                             [world.ClientsMax]uint8 // of changes of own znodes
}

func (p *past) add(m world.Moment) {
	at, mine := digest.Mix(p.order^digest.Mix(m.Hash^digest.Mix(m.What))), &p.count[m.Client]
	switch {
	case m.What == world.KeptOwn && *mine < 255:
		p.own = digest.Mix(p.own ^ at)
		*mine++
	case m.What == world.KeptGiving:
		p.giving += digest.Mix(at + uint64(*mine))
	case m.What == world.KeptGivenBack:
		p.back += digest.Mix(at + uint64(*mine))
	case m.What == world.KeptReturn:
		p.returns = digest.Mix(p.returns ^ (at + p.own + p.giving))
	case m.What == world.KeptCall:
		p.order = digest.Mix(at ^ digest.Mix(p.returns^digest.Mix(p.back+p.giving)))
	default:
		p.order = at
	}
}
