package cover

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/zktorture/zktorture/fakezk/wire"
	"github.com/zktorture/zktorture/sim/world"
)

// Coverage says how much of the world the episodes of a campaign have shown: what a pass covers, and what is left.
// Three things are looked at: at which [Placement] faults have struck; which requests of different clients met at a
// znode, one directly after the other; and in which states the recipe's znodes were (names by rank, owners and watchers
// by their order, [fakezk.Ensemble.Shape]). Requests and states are looked at in one of four episodes, which is cheaper.
type Coverage struct {
	Episodes int `json:"episodes"`
	Offered  int `json:"offered"` // placements that the world is known to have offered
	Struck   int `json:"struck"`  // of these, those at which a fault struck
	Pairs    int `json:"pairs"`
	States   int `json:"states"` // estimated if there are more than CoverageStates of sim.Config

	Recent    int `json:"recent"`     // the last tenth of the episodes
	NewStates int `json:"new_states"` // states that none before them had shown

	// Next is the probability that one more episode shows a placement, a pair or a state that none of those looked at has
	// shown: the share of these of which that can be said (Good, Biometrika 40, 1953, with episodes as the sample, left out
	// one at a time). AtLeast: it is a lower bound, as not all states are kept.
	Next    float64 `json:"next"`
	AtLeast bool    `json:"at_least,omitempty"`

	Faults map[string]FaultCoverage `json:"faults"` // by name
	// Operations are the same by the operation of the recipe, "" between operations, and the fault.
	Operations map[string]map[string]FaultCoverage `json:"operations"`

	Never []Placement `json:"never,omitempty"` // offered, and never struck there, in order
}

// FaultCoverage is what [Coverage] says of one fault.
type FaultCoverage struct {
	Offered int `json:"offered"`
	Struck  int `json:"struck"`
}

// with counts one more placement.
func (c FaultCoverage) with(struck bool) FaultCoverage {
	c.Offered++
	if struck {
		c.Struck++
	}
	return c
}

// Placement is a fault, in one of its variants, at a place of an operation of the recipe.
type Placement struct {
	Fault     string
	Variant   string // "" if there is but one
	Operation string // of the recipe; "" between operations
	Request   string // that is under way; "" if none is
	Place     string // of the request, or what the client does without one
}

func (k *Observer) placement(e edge) Placement {
	f := world.Faults(1) << e.fault
	p := Placement{Fault: f.String(), Variant: f.VariantName(e.variant), Operation: k.names[e.operation].name, Place: e.place.String()}
	if e.request != 0 {
		p.Request = world.RequestName(wire.Op(e.request))
	}
	return p
}

// String says all but the fault.
func (p Placement) String() string {
	text := cmp.Or(p.Operation, "between operations") + ", "
	if p.Request != "" {
		text += p.Request + " "
	}
	if text += p.Place; p.Variant != "" {
		text += ": " + p.Variant
	}
	return text
}

// MarshalText writes a placement for JSON: its fields in their order, with | between them.
func (p Placement) MarshalText() ([]byte, error) {
	return []byte(strings.Join([]string{p.Fault, p.Variant, p.Operation, p.Request, p.Place}, "|")), nil
}

// UnmarshalText reads what [Placement.MarshalText] writes.
func (p *Placement) UnmarshalText(text []byte) error {
	parts := strings.Split(string(text), "|")
	if len(parts) != 5 {
		return fmt.Errorf("sim: %q is no placement of a fault", text)
	}
	*p = Placement{parts[0], parts[1], parts[2], parts[3], parts[4]}
	return nil
}

// Coverage sums up what so many episodes have shown.
func (s *Sights) Coverage(episodes int) *Coverage {
	c := &Coverage{
		Episodes: episodes, Offered: len(s.Offered), Struck: len(s.Struck), Pairs: len(s.Pairs),
		States: s.States.scaled(len(s.States.Seen)), Recent: (episodes + 9) / 10, AtLeast: s.States.Level > 0,
		Faults: map[string]FaultCoverage{}, Operations: map[string]map[string]FaultCoverage{},
	}
	fresh := 0
	for _, t := range s.States.Seen {
		if t.first() >= episodes-c.Recent {
			fresh++
		}
	}
	c.NewStates = s.States.scaled(fresh)
	c.Next = float64(len(s.alone())) / float64(max(looked(episodes), 1))
	for p := range s.Offered {
		_, struck := s.Struck[p]
		if !struck {
			c.Never = append(c.Never, p)
		}
		at := c.Operations[p.Operation]
		if at == nil {
			at = map[string]FaultCoverage{}
			c.Operations[p.Operation] = at
		}
		c.Faults[p.Fault], at[p.Fault] = c.Faults[p.Fault].with(struck), at[p.Fault].with(struck)
	}
	slices.SortFunc(c.Never, comparePlacements)
	return c
}

// looked is how many of the first episodes are looked at.
func looked(episodes int) int { return (episodes + lookedShare - 1) / lookedShare }

// alone are the episodes, of those looked at, that have shown something that no other has.
func (s *Sights) alone() map[int]bool {
	alone := map[int]bool{}
	add := func(t tally) {
		if t.once() && lookedAt(t.first()) {
			alone[t.first()] = true
		}
	}
	for t := range maps.Values(s.Struck) {
		add(t)
	}
	for t := range maps.Values(s.Pairs) {
		add(t)
	}
	for t := range maps.Values(s.States.Seen) {
		add(t)
	}
	return alone
}

// comparePlacements orders by fault, as the faults are listed, and then by the operation.
func comparePlacements(a, b Placement) int {
	if a.Fault != b.Fault {
		return cmp.Compare(rank(a.Fault), rank(b.Fault))
	}
	return cmp.Or(cmp.Compare(a.Operation, b.Operation), cmp.Compare(a.Request, b.Request),
		cmp.Compare(a.Place, b.Place), cmp.Compare(a.Variant, b.Variant))
}

func rank(fault string) int {
	f, _ := world.ParseFault(fault)
	return f.Index()
}

// String says it in a line.
func (c *Coverage) String() string {
	return fmt.Sprintf("coverage: %s; %d states, %d of them new in the last %d episodes; %s of further episodes would "+
		"show something new", c.ways(), c.States, c.NewStates, c.Recent, c.next())
}

func (c *Coverage) ways() string {
	if c.Offered == 0 {
		return "no fault could hit an operation"
	}
	return fmt.Sprintf("%d of %d combinations of fault and moment tried (%d %%)", c.Struck, c.Offered, 100*c.Struck/c.Offered)
}

// next says how many of further episodes would show something new. What happens in 3/n of them is missed in n, with a
// probability of 5 %.
func (c *Coverage) next() string {
	switch {
	case c.Next == 0:
		return fmt.Sprintf("fewer than %.2g %%", min(300/float64(max(looked(c.Episodes), 1)), 100))
	case c.AtLeast:
		return fmt.Sprintf("at least %.2g %%", 100*c.Next)
	case c.Next < 0.01:
		return fmt.Sprintf("%.2g %%", 100*c.Next)
	}
	return fmt.Sprintf("%.0f %%", 100*c.Next)
}
