package sim

import (
	"math/bits"
	"slices"
)

// exchanges are ways to make a plot simpler where it counts more, and less simple where it counts less: fewer steps by
// another plan or another fault, fewer users by one more fault, fewer operations by another plan.
var exchanges = []way{otherPlan, otherStrike, strikeForUser, planForTurn}

// exchange tells whether one of them helps.
func (s *shrinker) exchange() bool {
	for _, exchanged := range exchanges {
		for i := 0; s.budget > 0; i++ {
			p, more := exchanged(s.best.plot(), i)
			if !more {
				break
			}
			if p.made != nil && s.follow(p) {
				return true
			}
		}
	}
	return false
}

// planned tells whether a choice says what is to be done, and not who is there or what happens to them.
func planned(label string) bool {
	switch label {
	case LabelSwarm, labelAtMost, LabelClients, LabelShared:
		return false
	}
	return !happening(label) && !slices.Contains(exactLabels[:], label)
}

// otherPlan gives other answers to what is to be done.
func otherPlan(p plot, i int) (q plot, more bool) {
	for at, m := range p.made {
		if !planned(m.label) {
			continue
		}
		if i < m.n-1 {
			return p.answered(at, i), true
		}
		i -= m.n - 1
	}
	return plot{}, false
}

// answered gives the i-th other answer at a place.
func (p plot) answered(at, i int) plot {
	if i >= p.made[at].value {
		i++
	}
	q := p.with(slices.Clone(p.made))
	q.made[at].value = i
	return q
}

// planForTurn takes a turn away, and gives other answers to what is to be done by no user in particular.
func planForTurn(p plot, i int) (q plot, more bool) {
	for turn := 0; ; turn++ {
		less, more := withoutTurn(p, turn)
		if !more {
			return plot{}, false
		}
		for at, m := range less.made {
			if !planned(m.label) || slices.Contains(planLabels[:], m.label) {
				continue
			}
			if i < m.n-1 {
				return less.answered(at, i), true
			}
			i -= m.n - 1
		}
	}
}

const (
	waysTried   = 2 // of a fault
	placesTried = 5 // before, at, and after that of another one
)

// otherStrike lets another fault strike in place of one, or in another way, or nearby.
func otherStrike(p plot, i int) (q plot, more bool) {
	all := slices.Concat(p.events, p.after)
	for at, e := range all {
		if e.fault == 0 {
			continue
		}
		if i >= faultCount*waysTried*placesTried {
			i -= faultCount * waysTried * placesTried
			continue
		}
		place := at + i/(faultCount*waysTried) - placesTried/2
		e.fault, e.variant = 1+i/waysTried%faultCount, i%waysTried
		if q = p.allowing(e.fault); q.made == nil || place < 0 || place >= len(all) {
			return plot{}, true
		}
		return q.happening(slices.Insert(slices.Delete(all, at, at+1), place, e), nil), true
	}
	return plot{}, false
}

// placesForUser is how many places are tried for a fault that takes the place of a user.
const placesForUser = 8

// strikeForUser takes a user away, and lets one more fault strike. The others strike when the requests on which they did
// are on their way, whatever else there is.
func strikeForUser(p plot, i int) (q plot, more bool) {
	for user := range p.users() {
		less, _ := withoutUser(p, user)
		if less.made == nil {
			continue
		}
		all := slices.Concat(less.events, less.after)
		tries := faultCount * min(1+len(all), placesForUser)
		if i >= tries {
			i -= tries
			continue
		}
		for at := range all {
			all[at].anytime = true
		}
		e := deed{fault: 1 + i%faultCount}
		return less.allowing(e.fault).happening(slices.Insert(all, i/faultCount, e), nil), true
	}
	return plot{}, false
}

// allowing lets a fault be part of the episode; no choices if it cannot be.
func (p plot) allowing(fault int) plot {
	kind := Faults(1 << (fault - 1))
	at := p.index(LabelSwarm, bits.OnesCount64(uint64(p.allowed&(kind-1))))
	if at < 0 || !p.allowed.Has(kind) || kind == Wrap {
		return plot{}
	}
	q := p.with(slices.Clone(p.made))
	q.made[at].value = 1
	if at := q.index(labelAtMost, 0); at >= 0 {
		q.made[at].value = q.made[at].n - 1
	}
	return q
}
