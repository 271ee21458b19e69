package sim

import "slices"

// plot is what shrinking changes of a run: what was chosen while it was planned, and what happened. Choices of the
// schedule and of faults are in it, too, but events say what they were.
type plot struct {
	made    []made
	layout  []int  // users by client
	allowed Faults // those that the episode was asked about
	events  []deed // until the rest happens of itself …
	after   []deed // … and the rest
}

func (o *outcome) plot() plot { return plot{o.made, o.layout, o.allowed, o.events, o.after} }

// with returns the plot with other choices.
func (p plot) with(all []made) plot {
	p.made = all
	return p
}

// happening returns the plot with other events.
func (p plot) happening(events, after []deed) plot {
	p.events, p.after = events, after
	return p
}

// users returns how many users there are.
func (p plot) users() (n int) {
	for _, users := range p.layout {
		n += users
	}
	return n
}

// way is a way to make plots simpler. It is asked with i = 0, 1, …, until there is no more; what it returns without
// choices is none.
type way func(p plot, i int) (q plot, more bool)

// withoutUser takes users away, from the last to the first, and their client if it has no other.
func withoutUser(p plot, i int) (q plot, more bool) {
	slot := p.users() - 1 - i
	if slot < 0 || p.users() == 1 {
		return plot{}, false
	}
	client := p.clientOf(slot)
	layout := slices.Clone(p.layout)
	if layout[client] > 1 {
		layout[client]--
		q = p.with(p.unshared(slot, client))
	} else {
		layout = slices.Delete(layout, client, client+1)
		q = p.with(p.withoutPlanOf(slot, client))
		q = q.happening(withoutClient(p.events, client), withoutClient(p.after, client))
	}
	q.layout = layout
	return q, true
}

// withoutClient returns what happened to the others; those after the client take its place.
func withoutClient(events []deed, client int) (rest []deed) {
	for _, e := range events {
		switch {
		case e.ofServer() || e.client < client:
			rest = append(rest, e)
		case e.client > client:
			e.client--
			rest = append(rest, e)
		}
	}
	return rest
}

func (p plot) clientOf(slot int) (client int) {
	for slot >= p.layout[client] {
		slot -= p.layout[client]
		client++
	}
	return client
}

// withoutPlanOf returns the choices without a client and its only user; none if the number of clients is not
// chosen.
func (p plot) withoutPlanOf(slot, client int) []made {
	if i := p.index(LabelClients, 0); i < 0 || p.made[i].value == 0 {
		return nil
	}
	all := p.withoutSlot(slot)
	if i := all.index(LabelShared, client); i >= 0 {
		all.made = slices.Delete(all.made, i, i+1)
	}
	all.made[all.index(LabelClients, 0)].value--
	return all.made
}

// unshared returns the choices without one of the users of a client; none if their number is not chosen.
func (p plot) unshared(slot, client int) []made {
	if p.index(LabelShared, client) < 0 {
		return nil
	}
	all := p.withoutSlot(slot)
	all.made[all.index(LabelShared, client)].value = 0
	return all.made
}

// withoutSlot drops what a user plans. Those after it take its place.
func (p plot) withoutSlot(slot int) (q plot) {
	for _, m := range p.made {
		at := slices.Index(planLabels[:], m.label)
		if at > slot {
			m.label = PlanLabel(at - 1)
		}
		if at != slot {
			q.made = append(q.made, m)
		}
	}
	return q
}

// index returns the n-th choice with a label, -1 if there is none.
func (p plot) index(label string, n int) int {
	for i, m := range p.made {
		if m.label != label {
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
func withoutTurn(p plot, i int) (q plot, more bool) {
	for slot := range p.users() {
		at, turns := p.plan(slot)
		if i >= turns {
			i -= turns
			continue
		}
		if turns == 1 {
			return plot{}, true
		}
		q = p.with(slices.Clone(p.made))
		q.made[at[0]].value--
		for _, i := range slices.Backward(turnOf(at, turns, turns-1-i)) {
			q.made = slices.Delete(q.made, i, i+1)
		}
		return q, true
	}
	return plot{}, false
}

// plan lists the choices of a user's plan: how many turns it has besides the first one, then those of each turn.
func (p plot) plan(slot int) (at []int, turns int) {
	label := PlanLabel(slot)
	for i, m := range p.made {
		if m.label == label {
			at = append(at, i)
		}
	}
	if len(at) > 0 {
		turns = 1 + p.made[at[0]].value
	}
	return at, turns
}

// turnOf returns those of the choices of a plan that are one turn's. Turns are taken to be of equal length.
func turnOf(at []int, turns, turn int) []int {
	each := (len(at) - 1) / turns
	return at[1+turn*each : 1+(turn+1)*each]
}

// withoutStrike takes single faults away, from the last to the first.
func withoutStrike(p plot, i int) (q plot, more bool) {
	for at, e := range slices.Backward(p.events) {
		if e.fault == 0 {
			continue
		}
		if i == 0 {
			return p.happening(slices.Delete(slices.Clone(p.events), at, at+1), p.after), true
		}
		i--
	}
	return plot{}, false
}

// withoutKind takes kinds of faults out of the episode. What strikes of those that stay is numbered anew by the
// events.
func withoutKind(p plot, i int) (q plot, more bool) {
	at := p.index(LabelSwarm, i)
	if at < 0 {
		return plot{}, false
	}
	return p.lowered(at), true
}

// lowered sets a choice to 0, if it is not.
func (p plot) lowered(at int) (q plot) {
	if p.made[at].value == 0 {
		return plot{}
	}
	q = p.with(slices.Clone(p.made))
	q.made[at].value = 0
	return q
}

// simplerPlan sets choices to 0 that say what is to be done.
func simplerPlan(p plot, i int) (q plot, more bool) {
	if i >= len(p.made) {
		return plot{}, false
	}
	if happening(p.made[i].label) {
		return plot{}, true
	}
	return p.lowered(i), true
}

// happening tells whether a label is of what happens to users, and not of what they want to do.
func happening(label string) bool {
	switch label {
	case LabelNext, LabelFault, LabelTarget, LabelVariant:
		return true
	}
	return false
}

// withoutEvents lets so many events in a row happen later, or never.
func withoutEvents(size int) way {
	return func(p plot, i int) (q plot, more bool) {
		at := len(p.events) - size - i*max(1, size/2)
		if at < 0 {
			return plot{}, false
		}
		return p.happening(slices.Delete(slices.Clone(p.events), at, at+size), p.after), true
	}
}

// ways are ways to make plots simpler, those that take most away first.
var ways = []way{
	withoutUser, withoutKind, withoutTurn, withoutStrike, simplerPlan,
	withoutEvents(16), withoutEvents(8), withoutEvents(4), withoutEvents(2), withoutEvents(1),
}

// replot makes the plot of the best run simpler until that helps no more.
func (s *shrinker) replot() {
	for improved := true; improved; {
		improved = false
		for _, simpler := range ways {
			for i := 0; s.budget > 0; i++ {
				p, more := simpler(s.best.plot(), i)
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

// follow runs a plot and keeps what comes of it if the property still breaks and it is simpler.
func (s *shrinker) follow(p plot) bool {
	s.budget--
	return s.keep(s.run(newGuided(p), cost(s.best)))
}
