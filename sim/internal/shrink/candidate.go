package shrink

import (
	"slices"

	"github.com/zktorture/zktorture/sim/world"
)

// candidate is what shrinking changes of a run: what was chosen while it was planned, and what happened. Choices of the
// schedule and of faults are in it, too, but events say what they were.
type candidate struct {
	made   []world.Made
	layout []int         // users by client
	events []world.Event // until the rest happens of itself
}

func (o *tried) candidate() candidate {
	return candidate{o.Made, o.Layout, o.events}
}

// with returns the candidate with other choices.
func (p candidate) with(all []world.Made) candidate {
	p.made = all
	return p
}

// happening returns the candidate with other events.
func (p candidate) happening(events []world.Event) candidate {
	p.events = events
	return p
}

// users returns how many users there are.
func (p candidate) users() (n int) {
	for _, users := range p.layout {
		n += users
	}
	return n
}

// edit is a way to make candidates simpler. It is asked with i = 0, 1, …, until there is no more; what it returns without
// choices is none.
type edit func(p candidate, i int) (q candidate, more bool)

// withoutUser takes users away, from the last to the first, and their client if it has no other.
func withoutUser(p candidate, i int) (q candidate, more bool) {
	slot := p.users() - 1 - i
	if slot < 0 || p.users() == 1 {
		return candidate{}, false
	}
	client := p.clientOf(slot)
	layout := slices.Clone(p.layout)
	if layout[client] > 1 {
		layout[client]--
		q = p.with(p.unshared(slot, client))
	} else {
		layout = slices.Delete(layout, client, client+1)
		q = p.with(p.withoutPlanOf(slot, client))
		q = q.happening(withoutClient(p.events, client))
	}
	q.layout = layout
	return q, true
}

// withoutClient returns what happened to the others; those after the client take its place.
func withoutClient(events []world.Event, client int) (rest []world.Event) {
	for _, e := range events {
		switch {
		case e.OfServer() || e.Client < client:
			rest = append(rest, e)
		case e.Client > client:
			e.Client--
			rest = append(rest, e)
		}
	}
	return rest
}

func (p candidate) clientOf(slot int) (client int) {
	for slot >= p.layout[client] {
		slot -= p.layout[client]
		client++
	}
	return client
}

// withoutPlanOf returns the choices without a client and its only user; none if the number of clients is not chosen.
func (p candidate) withoutPlanOf(slot, client int) []world.Made {
	if i := p.index(world.LabelClients, 0); i < 0 || p.made[i].Value == 0 {
		return nil
	}
	all := p.withoutSlot(slot)
	if i := all.index(world.LabelShared, client); i >= 0 {
		all.made = slices.Delete(all.made, i, i+1)
	}
	all.made[all.index(world.LabelClients, 0)].Value--
	return all.made
}

// unshared returns the choices without one of the users of a client; none if their number is not chosen.
func (p candidate) unshared(slot, client int) []world.Made {
	if p.index(world.LabelShared, client) < 0 {
		return nil
	}
	all := p.withoutSlot(slot)
	all.made[all.index(world.LabelShared, client)].Value = 0
	return all.made
}

// withoutSlot drops what a user plans. Those after it take its place.
func (p candidate) withoutSlot(slot int) (q candidate) {
	for _, m := range p.made {
		at := slices.Index(world.PlanLabels[:], m.Label)
		if at > slot {
			m.Label = world.PlanLabel(at - 1)
		}
		if at != slot {
			q.made = append(q.made, m)
		}
	}
	return q
}

// index returns the n-th choice with a label, -1 if there is none.
func (p candidate) index(label string, n int) int {
	for i, m := range p.made {
		if m.Label != label {
			continue
		}
		if n == 0 {
			return i
		}
		n--
	}
	return -1
}

// withoutTurn takes turns out of the users' plans, from the last to the first.
func withoutTurn(p candidate, i int) (q candidate, more bool) {
	for slot := range p.users() {
		at, turns := p.plan(slot)
		if i >= turns {
			i -= turns
			continue
		}
		if turns == 1 {
			return candidate{}, true
		}
		q = p.with(slices.Clone(p.made))
		q.made[at[0]].Value--
		for _, i := range slices.Backward(turnOf(at, turns, turns-1-i)) {
			q.made = slices.Delete(q.made, i, i+1)
		}
		return q, true
	}
	return candidate{}, false
}

// plan lists the choices of a user's plan: how many turns it has besides the first one, then those of each turn.
func (p candidate) plan(slot int) (at []int, turns int) {
	label := world.PlanLabel(slot)
	for i, m := range p.made {
		if m.Label == label {
			at = append(at, i)
		}
	}
	if len(at) > 0 {
		turns = 1 + p.made[at[0]].Value
	}
	return at, turns
}

// turnOf returns those of the choices of a plan that are one turn's. Turns are taken to be of equal length.
func turnOf(at []int, turns, turn int) []int {
	each := (len(at) - 1) / turns
	return at[1+turn*each : 1+(turn+1)*each]
}

// withoutStrike takes single faults away, from the last to the first.
func withoutStrike(p candidate, i int) (q candidate, more bool) {
	for at, e := range slices.Backward(p.events) {
		if e.Fault == 0 {
			continue
		}
		if i == 0 {
			return p.happening(slices.Delete(slices.Clone(p.events), at, at+1)), true
		}
		i--
	}
	return candidate{}, false
}

// withoutKind takes kinds of faults out of the episode. What strikes of those that stay is numbered anew by the
// events.
func withoutKind(p candidate, i int) (q candidate, more bool) {
	at := p.index(world.LabelSwarm, i)
	if at < 0 {
		return candidate{}, false
	}
	return p.lowered(at), true
}

// lowered sets a choice to 0, if it is not.
func (p candidate) lowered(at int) (q candidate) {
	if p.made[at].Value == 0 {
		return candidate{}
	}
	q = p.with(slices.Clone(p.made))
	q.made[at].Value = 0
	return q
}

// simplerPlan sets choices to 0 that say what is to be done.
func simplerPlan(p candidate, i int) (q candidate, more bool) {
	if i >= len(p.made) {
		return candidate{}, false
	}
	if happening(p.made[i].Label) {
		return candidate{}, true
	}
	return p.lowered(i), true
}

// happening reports whether a label is of what happens to users, and not of what they want to do.
func happening(label string) bool {
	switch label {
	case world.LabelNext, world.LabelFault, world.LabelTarget, world.LabelVariant:
		return true
	}
	return false
}

// withoutEvents lets so many events in a row happen later, or never.
func withoutEvents(size int) edit {
	return func(p candidate, i int) (q candidate, more bool) {
		at := len(p.events) - size - i*max(1, size/2)
		if at < 0 {
			return candidate{}, false
		}
		return p.happening(slices.Delete(slices.Clone(p.events), at, at+size)), true
	}
}

// edits are ways to make candidates simpler, those that take most away first.
var edits = []edit{
	withoutUser, withoutKind, withoutTurn, withoutStrike, simplerPlan,
	withoutEvents(16), withoutEvents(8), withoutEvents(4), withoutEvents(2), withoutEvents(1),
}

// simplify makes the candidate of the best run simpler until that helps no more.
func (s *Shrinker) simplify() {
	for improved := true; improved; {
		improved = false
		for _, simpler := range edits {
			for i := 0; s.Budget > 0; i++ {
				p, more := simpler(s.best.candidate(), i)
				if !more {
					break
				}
				if p.made != nil && s.follow(p) {
					improved = true
					i--
				}
			}
		}
	}
}

// follow runs a candidate and keeps what comes of it if the property still breaks and it is simpler.
func (s *Shrinker) follow(p candidate) bool {
	s.Budget--
	return s.keep(s.run(newGuided(p), world.Cost(s.best.Run)))
}
