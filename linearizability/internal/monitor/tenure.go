package monitor

import (
	"github.com/zktorture/zktorture/linearizability/internal/interval"
	"github.com/zktorture/zktorture/linearizability/internal/step"
)

// A monitor of a lock does not look at operations but at tenures: a grant and the release that ends it. Which release
// ends which grant follows from the order of call alone. The steps of one item are, by that order,
//
//	one grant of outcome ok, or none
//	any number of: grants of unknown outcome …, then a release that insists on a hold
//	releases that do not insist: of unknown outcome, or excused by one before them
//
// as prepareLock drops the grants of unknown outcome on which nothing insists. Every release that insists ends one
// grant called before it, so there have to be that many. The first ends the grant of outcome ok; every other ends a
// grant of unknown outcome, which can wait until just before, so that its tenure has no length and sits wherever
// there is room while the release runs. Without a release that insists the grant of outcome ok may end from the call
// of the first other release on.
//
// Which of several grants of unknown outcome took effect makes no difference if their tokens are not known, and one
// of these is never worse than one whose token is known. Unclear are only the choice among grants with tokens, and
// some downgrades beside operations of unknown outcome.

// tenure is one hold, and when its ends can take effect.
//
// The grant takes effect between from and till, the end at free or later. If till < free, it is held between them,
// but perhaps not at them: a forward zone, in the words of Gibbons and Korach. Otherwise it can be held for no time
// at all, at any one instant from free to till: a backward zone.
type tenure struct {
	grant   int32 // of the steps
	release int32 // of the steps; none if nobody ends it
	ended   int32 // of the steps: the one that insists on its end, after the release perhaps; none if there is none
	share   int32 // of the steps: the first downgrade; none if there is none
	from    int64
	till    int64
	free    int64 // interval.Forever if nobody ends it
	shared  int64 // from here on it is a reader's; interval.Forever if never
	// it may also have been granted early and downgraded: it is best to have no length, but not the only way
	other bool
}

func newTenure(grant int32, from, till int64) tenure {
	return tenure{
		grant: grant, release: step.None, ended: step.None, share: step.None, from: from, till: till, free: interval.Forever, shared: interval.Forever,
	}
}

// held reports whether there is a time at which it is surely held.
func (t *tenure) held() bool { return t.till < t.free }

// claim is what is known of an item after some of its steps.
type claim struct {
	now       int32 // one more than the tenure that lasts; 0 for none
	last      int32 // one more than the tenure that was ended by a release that insists; 0 for none
	noToken   int32 // the last grant of unknown outcome and without token
	noTokens  int32 // how many of these may still take effect
	known     int32 // the last grant of unknown outcome and with a token
	knowns    int32 // how many of these may still take effect
	choice    bool  // whether there was a choice which of them took effect
	unlike    bool  // whether some of them are readers' and others not
	ambiguous bool  // whether something perhaps happened to a hold that a downgrade may insist on later
	lost      bool  // whether it is unclear what lasts
}

// spares is how many grants of unknown outcome may still take effect.
func (c *claim) spares() int32 { return c.noTokens + c.knowns }

// tenancy is the tenures of a history.
type tenancy struct {
	steps   []step.Step
	claims  []claim // by item
	all     []tenure
	stray   []int32 // steps, of which the last insists on a hold that its client did not have
	unclear string  // why some tenures are missing; those that are there are sure all the same
}

// Tenures pairs grants with releases. The steps are in order of call.
func Tenures(steps []step.Step) *tenancy {
	t := &tenancy{steps: steps, claims: make([]claim, step.Items(steps)), all: make([]tenure, 0, len(steps)/2)}
	for i := range steps {
		t.take(int32(i))
	}
	return t
}

func (t *tenancy) take(i int32) {
	s := &t.steps[i]
	if s.Item == step.NoItem {
		t.unheld(i, &claim{})
		return
	}
	switch c := &t.claims[s.Item]; s.Kind {
	case step.Grant:
		t.granted(i, c)
	case step.Share:
		t.downgraded(i, c)
	default:
		t.released(i, c)
	}
}

func (t *tenancy) granted(i int32, c *claim) {
	s := &t.steps[i]
	if !s.Unknown {
		c.now = t.begin(newTenure(i, s.Call, s.End))
		return
	}
	c.unlike = c.unlike || c.noTokens > 0 && s.Hold().Reads != t.steps[c.noToken].Hold().Reads ||
		c.knowns > 0 && s.Hold().Reads != t.steps[c.known].Hold().Reads
	if s.Null {
		c.noToken = i
		c.noTokens++
	} else {
		c.known = i
		c.knowns++
	}
}

// begin adds a tenure and returns one more than its place.
func (t *tenancy) begin(x tenure) int32 {
	t.all = append(t.all, x)
	return int32(len(t.all))
}

func (t *tenancy) released(i int32, c *claim) {
	s := &t.steps[i]
	switch {
	case c.lost:
	case c.now > 0:
		t.end(i, c)
	case s.Insists() && c.spares() == 0:
		t.unheld(i, c)
	case s.Insists():
		if x, clear := t.borrow(i, c); clear {
			x.release, x.ended, x.free = i, i, s.Call
			c.last = t.begin(x)
		}
	case c.spares() > 0:
		c.ambiguous = true
	}
}

// end ends the tenure that lasts. The first release does; what comes after it ends nothing sooner.
func (t *tenancy) end(i int32, c *claim) {
	s, x := &t.steps[i], &t.all[c.now-1]
	if x.release == step.None {
		x.release, x.free = i, s.Call
	}
	c.ambiguous = c.ambiguous || s.Hold().Excused
	if s.Insists() {
		x.till = min(x.till, s.End)
		c.choice = c.choice || c.spares() > 0
		x.ended = i
		c.now, c.last = 0, c.now
	}
}

// borrow returns the tenure of a grant of unknown outcome on which step i insists, unless it is unclear of which.
func (t *tenancy) borrow(i int32, c *claim) (x tenure, clear bool) {
	c.choice = c.choice || c.spares() > 1
	grant := c.spend()
	s, g := &t.steps[i], &t.steps[grant]
	other := c.ambiguous && g.Null && s.Kind == step.Release && t.unclear == ""
	if c.ambiguous && !other || c.choice && (c.unlike || !g.Null) {
		t.unclear = "several grants of unknown outcome, with tokens or downgrades, could be what one release ended"
		c.last, c.ambiguous = 0, true
		return tenure{}, false
	}
	x = newTenure(grant, g.Call, s.End)
	x.other = other
	return x, true
}

// spend returns a grant that may still take effect, without a token if there is one.
func (c *claim) spend() int32 {
	if c.noTokens > 0 {
		c.noTokens--
		return c.noToken
	}
	c.knowns--
	return c.known
}

// lastEnd is until when the last tenure may have lasted.
func (t *tenancy) lastEnd(c *claim) int64 { return t.steps[t.all[c.last-1].release].End }

// unheld notes the first step that insists on a hold that its client did not have, or no longer.
func (t *tenancy) unheld(i int32, c *claim) {
	switch {
	case t.stray != nil:
	case c.last > 0:
		x := &t.all[c.last-1]
		t.stray = []int32{x.grant, x.release, x.ended, i}
	default:
		t.stray = []int32{i}
	}
}

// downgraded: a downgrade insists on a hold as a release does, but does not end it. Sooner is better: at its call.
func (t *tenancy) downgraded(i int32, c *claim) {
	s := &t.steps[i]
	switch {
	case c.lost:
	case c.now > 0:
		t.soften(i, c)
	case !s.Insists():
		c.ambiguous = c.ambiguous || c.spares() > 0
	case c.last > 0 && s.Call <= t.lastEnd(c):
		t.unclear, c.lost = "a downgrade touches the release before it", true
	case c.spares() == 0 && c.ambiguous:
		t.unclear, c.lost = "it is unclear what the release before a downgrade ended, and when", true
	case c.spares() == 0:
		t.unheld(i, c)
	default:
		if x, clear := t.borrow(i, c); clear {
			x.share, x.shared = i, s.Call
			c.now = t.begin(x)
		} else {
			c.lost = true
		}
	}
}

// soften makes a tenure a reader's. A release of it before must then have come after a downgrade that insists on it.
func (t *tenancy) soften(i int32, c *claim) {
	s, x := &t.steps[i], &t.all[c.now-1]
	switch {
	case s.Insists() && x.release != step.None && (c.ambiguous || x.share != step.None || c.spares() > 0):
		t.unclear, c.lost = "a downgrade follows a release of unknown outcome and something else that perhaps "+
			"happened", true
		return
	case s.Insists() && x.release != step.None:
		x.free, x.share, x.shared = s.Call, i, s.Call
	case x.release != step.None:
		c.ambiguous = true
	case s.Call < x.shared:
		x.share, x.shared = i, s.Call
	}
	if s.Insists() {
		x.till = min(x.till, s.End)
	}
}

// certificate returns the steps of tenures. Leaving out other holds only makes room.
func (t *tenancy) certificate(tenures ...int32) []step.Step {
	var of []int32
	for _, k := range tenures {
		x := &t.all[k]
		for _, i := range []int32{x.grant, x.share, x.release, x.ended} {
			if i != step.None {
				of = append(of, i)
			}
		}
	}
	return step.At(t.steps, unique(of))
}

// strayFinding is a release without a hold.
func (t *tenancy) strayFinding() step.Finding {
	return step.Finding{Property: "release", Steps: step.At(t.steps, unique(t.stray))}
}

// Need marks the items of tenures that are not over, or have the greatest token.
func (t *tenancy) Need(needed []bool, first int64) {
	low, greatest := first, int32(step.None)
	for i := range t.all {
		x := &t.all[i]
		if !x.held() && x.till >= first {
			low = min(low, x.free)
		}
		if s := &t.steps[x.grant]; !s.Null && (greatest == step.None || s.Hold().Token > t.token(greatest)) {
			greatest = int32(i)
		}
	}
	for i := range t.all {
		if x := &t.all[i]; int32(i) == greatest || max(x.till, x.free) >= low {
			needed[t.steps[x.grant].Item] = true
		}
	}
}
