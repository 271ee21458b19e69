package shrink

import (
	"math/bits"
	"slices"

	"github.com/zktorture/zktorture/sim/world"
)

// exchanges are ways to make a candidate simpler where it counts more, and less simple where it counts less: fewer steps by
// another plan or another fault, fewer users by one more fault, fewer operations by another plan.
var exchanges = []edit{otherPlan, otherStrike, strikeForUser, planForTurn}

// exchange reports whether one of them helps.
func (s *Shrinker) exchange() bool {
	for _, exchanged := range exchanges {
		for i := 0; s.Budget > 0; i++ {
			p, more := exchanged(s.best.candidate(), i)
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

// planned reports whether a choice says what is to be done, and not who is there or what happens to them.
func planned(label string) bool {
	switch label {
	case world.LabelSwarm, world.LabelAtMost, world.LabelClients, world.LabelShared:
		return false
	}
	return !happening(label) && !slices.Contains(world.ExactLabels[:], label)
}

// otherPlan gives other answers to what is to be done.
func otherPlan(p candidate, i int) (q candidate, more bool) {
	for at, m := range p.made {
		if !planned(m.Label) {
			continue
		}
		if i < m.N-1 {
			return p.answered(at, i), true
		}
		i -= m.N - 1
	}
	return candidate{}, false
}

// answered gives the i-th other answer at a place.
func (p candidate) answered(at, i int) candidate {
	if i >= p.made[at].Value {
		i++
	}
	q := p.with(slices.Clone(p.made))
	q.made[at].Value = i
	return q
}

// planForTurn takes a turn away, and gives other answers to what is to be done by no user in particular.
func planForTurn(p candidate, i int) (q candidate, more bool) {
	for turn := 0; ; turn++ {
		less, more := withoutTurn(p, turn)
		if !more {
			return candidate{}, false
		}
		for at, m := range less.made {
			if !planned(m.Label) || slices.Contains(world.PlanLabels[:], m.Label) {
				continue
			}
			if i < m.N-1 {
				return less.answered(at, i), true
			}
			i -= m.N - 1
		}
	}
}

const (
	waysTried   = 2 // of a fault
	placesTried = 5 // before, at, and after that of another one
)

// otherStrike lets another fault strike in place of one, or in another way, or nearby.
func otherStrike(p candidate, i int) (q candidate, more bool) {
	all := slices.Concat(p.events, p.after)
	for at, e := range all {
		if e.Fault == 0 {
			continue
		}
		if i >= world.FaultCount*waysTried*placesTried {
			i -= world.FaultCount * waysTried * placesTried
			continue
		}
		place := at + i/(world.FaultCount*waysTried) - placesTried/2
		e.Fault, e.Variant = 1+i/waysTried%world.FaultCount, i%waysTried
		if q = p.allowing(e.Fault); q.made == nil || place < 0 || place >= len(all) {
			return candidate{}, true
		}
		return q.happening(slices.Insert(slices.Delete(all, at, at+1), place, e), nil), true
	}
	return candidate{}, false
}

// placesForUser is how many places are tried for a fault that takes the place of a user.
const placesForUser = 8

// strikeForUser takes a user away, and lets one more fault strike. The others strike when the requests on which they did
// are on their way, whatever else there is.
func strikeForUser(p candidate, i int) (q candidate, more bool) {
	for user := range p.users() {
		less, _ := withoutUser(p, user)
		if less.made == nil {
			continue
		}
		all := slices.Concat(less.events, less.after)
		tries := world.FaultCount * min(1+len(all), placesForUser)
		if i >= tries {
			i -= tries
			continue
		}
		for at := range all {
			all[at].Anytime = true
		}
		e := world.Event{Fault: 1 + i%world.FaultCount}
		return less.allowing(e.Fault).happening(slices.Insert(all, i/world.FaultCount, e), nil), true
	}
	return candidate{}, false
}

// allowing lets a fault be part of the episode; no choices if it cannot be.
func (p candidate) allowing(fault int) candidate {
	kind := world.Faults(1 << (fault - 1))
	at := p.index(world.LabelSwarm, bits.OnesCount64(uint64(p.allowed&(kind-1))))
	if at < 0 || !p.allowed.Has(kind) || kind == world.Wrap {
		return candidate{}
	}
	q := p.with(slices.Clone(p.made))
	q.made[at].Value = 1
	if at := q.index(world.LabelAtMost, 0); at >= 0 {
		q.made[at].Value = q.made[at].N - 1
	}
	return q
}
