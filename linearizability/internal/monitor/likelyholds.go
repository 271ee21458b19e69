package monitor

import (
	"math"
	"slices"

	"github.com/zktorture/zktorture/linearizability/internal/interval"
	"github.com/zktorture/zktorture/linearizability/internal/step"
)

// Where it is doubtful what a release ends, as something of unknown outcome is before it, most histories are legal by
// what a process probably did: releases and downgrades of unknown outcome took effect at once, as that leaves the
// most room for others, and grants of unknown outcome only if a release insists on one. Then every release ends one
// hold that is known, and the monitor can judge.
//
// What it finds legal so is legal if no process has two holds of one item at once, whenever they begin and end: then
// every release, when it takes effect, finds only the hold that it is thought to end. What is left out never took
// effect.

// likelyHolds returns what probably took effect, an item for each hold, and whether the holds of each item are apart.
func likelyHolds(steps []step.Step) (likely []step.Step, apart bool) {
	items := make(map[int32]*guess)
	of := make([]*guessedHold, len(steps)) // by step
	for i := range steps {
		s := &steps[i]
		if s.Item == step.NoItem {
			continue
		}
		x := items[s.Item]
		if x == nil {
			x = &guess{over: math.MinInt64}
			items[s.Item] = x
		}
		if of[i] = x.take(s); x.failed {
			return nil, false
		}
	}
	for i := range steps {
		s := steps[i]
		if h := of[i]; s.Item != step.NoItem && (h == nil || !h.granted || s.Unknown && !h.uses(&steps[i])) {
			continue
		} else if s.Item != step.NoItem {
			s.Item = h.Order
		}
		if s.Kind == step.Grant {
			s.Call = of[i].from
		}
		clear := *s.Hold()
		clear.Doubt, clear.Excused = nil, false
		s.With = &clear
		likely = append(likely, s)
	}
	return likely, true
}

// guess is what a process probably held of one item.
type guess struct {
	held    *guessedHold   // what lasts
	before  *guessedHold   // what lasted last
	pending []*guessedHold // grants of unknown outcome on which nobody has insisted
	over    int64          // by when all is over that came before what lasts
	failed  bool           // whether that cannot be, or is not apart
}

// guessedHold is a hold, and what of unknown outcome changed or ended it.
type guessedHold struct {
	step.Hold
	grant, share, release *step.Step
	granted               bool
	from                  int64 // it was granted then or later
}

func (h *guessedHold) uses(s *step.Step) bool { return s == h.grant || s == h.share || s == h.release }

// last is when the hold is over at the latest.
func (h *guessedHold) last() int64 {
	if h.release == nil {
		return interval.Forever
	}
	if h.release.Unknown {
		return max(h.release.Call, h.grant.End)
	}
	return h.release.End
}

// take notes the next step of the item by call. It returns the hold that it is probably about.
func (x *guess) take(s *step.Step) *guessedHold {
	switch {
	case s.Kind == step.Grant:
		h := &guessedHold{Hold: step.Hold{Item: s.Item, Order: s.Hold().Order, Takes: s.Takes()}, grant: s}
		if s.Unknown {
			x.pending = append(x.pending, h)
		} else {
			x.begin(h, s)
		}
		return h
	case x.held != nil && x.held.suits(s):
		return x.change(s)
	case s.Unknown:
		return nil
	}
	return x.insist(s)
}

// suits reports whether a release or a downgrade can be about the hold.
func (h *guessedHold) suits(s *step.Step) bool {
	return h.Order < s.Hold().Order && s.About(&h.Hold) &&
		(s.Kind == step.Release || h.Takes == step.Whole)
}

// begin lets a hold begin, which has to be after all that came before, and before s is over.
func (x *guess) begin(h *guessedHold, s *step.Step) {
	x.failed = x.failed || x.held != nil || s.End <= x.over
	x.held, h.granted, h.from = h, true, max(h.grant.Call, x.over+1)
}

// change lets the hold that lasts become a reader's, or end.
func (x *guess) change(s *step.Step) *guessedHold {
	h := x.held
	if s.Kind == step.Share {
		h.Hold.Share(s)
		h.share = s
		return h
	}
	h.release = s
	x.held, x.before, x.over = nil, h, max(x.over, h.last())
	return h
}

// insist is for what surely took effect although nothing is held that it can be about: then a grant of unknown
// outcome took effect, or a downgrade or a release of unknown outcome did not; unless it is a retry.
func (x *guess) insist(s *step.Step) *guessedHold {
	x.revise(s)
	if x.held != nil && x.held.suits(s) {
		return x.change(s)
	}
	if s.Hold().Excused {
		x.failed = x.failed || x.held != nil || s.End < x.over
		x.before, x.over = nil, max(x.over, s.End) // whatever was before must be over
		return nil
	}
	k := slices.IndexFunc(x.pending, func(h *guessedHold) bool { return h.suits(s) })
	if x.failed = x.failed || k < 0; x.failed {
		return nil
	}
	x.begin(x.pending[k], s)
	x.pending = slices.Delete(x.pending, k, k+1)
	return x.change(s)
}

// revise takes a downgrade or a release of unknown outcome back if step s insists on what was before.
func (x *guess) revise(s *step.Step) {
	h := x.held
	if h == nil && !s.Hold().Excused {
		h = x.before
	}
	if h == nil {
		return
	}
	old := *h
	switch {
	case x.held == nil && h.release.Unknown:
		h.release = nil
	case x.held != nil && h.share != nil && h.share.Unknown:
		h.share, h.Takes = nil, h.grant.Takes()
	default:
		return
	}
	if h.suits(s) {
		x.held = h
	} else {
		*h = old
	}
}
