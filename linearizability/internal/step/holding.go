package step

import (
	"cmp"
	"math"
	"slices"
)

// Holding is what the models of locks know of a grant, a release or a downgrade.
type Holding struct {
	Token   int64  // of a grant, unless it is not known
	Permits int64  // how many permits of a semaphore are granted or given back
	Order   int32  // place in order of call
	Reads   bool   // the grant is a reader's
	Excused bool   // the hold may have been released already, by a release of unknown outcome
	Doubt   *Doubt // of a read/write lock: what it may be about if that is not clear; else nil
}

func (h *Holding) says() any { return *h }

// Hold is what a step of a lock knows.
func (s *Step) Hold() *Holding { return s.With.(*Holding) }

// Insists reports whether a release or downgrade is legal only while there is a hold.
func (s *Step) Insists() bool { return !s.Unknown && !s.Hold().Excused }

// Whole is what an exclusive hold takes.
const Whole = math.MaxInt64

// Takes is how many permits a grant takes, [Whole] of a writer.
func (s *Step) Takes() int64 {
	switch {
	case s.Hold().Reads:
		return 1
	case s.Hold().Permits > 0:
		return s.Hold().Permits
	}
	return Whole
}

// Hold is what a process holds of permits.
type Hold struct {
	Item, Order int32 // order as in lockState
	Takes       int64
	downgrade   int32 // the order of that of outcome ok that has made it a reader's, or 0
}

// Share lets a downgrade make the hold a reader's.
func (h *Hold) Share(s *Step) {
	if h.Takes = 1; !s.Unknown {
		h.downgrade = s.Hold().Order
	}
}

// Doubt is what a step may be about in a doubtful item: grants by their place in order of call, which increases.
type Doubt struct {
	Alone  []int32 // of a release or downgrade of a writer's hold: those of writers
	Reads  []int32 // of a release of a reader's hold: those of readers …
	Shared []int32 // … and of writers that may have been downgraded
}

// About reports whether the step may be about a hold. For a process that knows of the downgrade the
// hold is a reader's; for one that does not, either kind of release may end it.
func (s *Step) About(h *Hold) bool {
	d := s.Hold().Doubt
	in := func(orders []int32) bool {
		_, found := slices.BinarySearch(orders, h.Order)
		return found
	}
	switch {
	case d == nil:
		return true
	case in(d.Alone):
		return h.downgrade == 0 || s.Hold().Order < h.downgrade
	case in(d.Reads):
		return true
	}
	return h.Takes != Whole && in(d.Shared)
}

// CompareHolds orders holds by item, then by order.
func CompareHolds(a, b Hold) int {
	return cmp.Or(cmp.Compare(a.Item, b.Item), cmp.Compare(a.Order, b.Order))
}
