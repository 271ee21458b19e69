package campaign

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/tally"
)

// Sum is what came of the units of a campaign so far. It is JSON, from which a coordinator goes on ([Plan.ReadSum]). It is
// not for several goroutines.
type Sum struct {
	Plan    string         `json:"plan"`  // the digest of the plan
	Parts   []tally.Part   `json:"parts"` // of each job
	Again   map[int]*Again `json:"again"` // what came of known failures, by their place in the plan
	Done    map[int]string `json:"done"`  // units of which there is a result, with its digest
	Unknown map[int]string `json:"unknown"`
	Twice   int            `json:"twice"`   // results of units that were done already, which were only compared
	Unequal []int          `json:"unequal"` // units whose results differ and should not: the first counts
	Began   time.Time      `json:"began"`   // when the campaign began, by the coordinator's clock
	Took    Duration       `json:"took"`    // for how long coordinators have been at work

	plan *Plan
}

// NewSum returns the sum of no units.
func NewSum(p *Plan) *Sum {
	return &Sum{
		Plan: p.digest, Parts: make([]tally.Part, len(p.list)), Again: map[int]*Again{},
		Done: map[int]string{}, Unknown: map[int]string{}, Unequal: []int{}, Began: time.Now(), plan: p,
	}
}

// ReadSum reads the JSON of a sum of the plan's units.
func (p *Plan) ReadSum(text []byte) (*Sum, error) {
	s := NewSum(p)
	if err := json.Unmarshal(text, s); err != nil {
		return nil, fmt.Errorf("the sum of units cannot be read: %w", err)
	}
	if s.Plan != p.digest || len(s.Parts) != len(p.list) {
		return nil, errors.New("the sum of units is of another plan")
	}
	return s, nil
}

// Add adds the result of a unit. A unit counts once: what comes again is compared. The error is for a result that is
// not of this plan; it changes nothing.
func (s *Sum) Add(r UnitResult) error {
	u, ok := s.plan.Unit(r.Unit.Number)
	switch {
	case r.Plan != s.Plan:
		return fmt.Errorf("the result of unit %d is of another plan", r.Unit.Number)
	case !ok || u != r.Unit:
		return fmt.Errorf("the plan has no such unit: %+v", r.Unit)
	case r.Unknown != "":
		s.noteUnknown(u.Number, r.Unknown)
		return nil
	case (u.Job >= 0) != (r.Part != nil) || (u.Job < 0) != (r.Again != nil):
		return fmt.Errorf("the result of unit %d is incomplete: run the unit again", u.Number)
	}
	digest, err := r.digest()
	if err != nil {
		return err
	}
	if before, done := s.Done[u.Number]; done {
		s.Twice++
		exact, wire := s.plan.mode(u) // over the wire the Go scheduler decides, too, see [world.WireNote]
		if i, noted := slices.BinarySearch(s.Unequal, u.Number); !noted && before != digest && (exact || !wire) {
			s.Unequal = slices.Insert(s.Unequal, i, u.Number)
		}
		return nil
	}
	if u.Job < 0 {
		s.Again[u.Known] = r.Again
	} else if err := s.Parts[u.Job].Add(*r.Part); err != nil {
		return fmt.Errorf("unit %d: %w", u.Number, err)
	}
	s.Done[u.Number] = digest
	delete(s.Unknown, u.Number)
	return nil
}

// noteUnknown notes why a unit that is not done gave no result. Of several reasons the first by the alphabet stands, so
// that their order does not matter.
func (s *Sum) noteUnknown(unit int, reason string) {
	if _, done := s.Done[unit]; done {
		return
	}
	if old, noted := s.Unknown[unit]; !noted || reason < old {
		s.Unknown[unit] = reason
	}
}

// Report puts what came of each job together. A job of which units gave no result is unknown, unless it broke a
// property.
func (s *Sum) Report(jobs []JobReport) *Report {
	r := &Report{Format: ReportFormat, Plan: s.plan, Digest: s.Plan, Units: len(s.Done) + len(s.Unknown), Unknown: s.Unknown,
		Unequal: s.Unequal, Jobs: slices.Clone(jobs)}
	of := map[int][]int{} // by job: units without a result
	for _, n := range slices.Sorted(maps.Keys(s.Unknown)) {
		if u, _ := s.plan.Unit(n); u.Job >= 0 {
			of[u.Job] = append(of[u.Job], n)
		}
	}
	for i, units := range of {
		j := &r.Jobs[i]
		why, _, _ := strings.Cut(s.Unknown[units[0]], "\n") // stacks may follow
		j.Reason = strings.TrimSuffix(fmt.Sprintf("no result of %s: %s; %s", list(units), why, j.Reason), "; ")
		if j.Verdict == sim.VerdictOK {
			j.Verdict = sim.VerdictUnknown
		}
	}
	for i, k := range s.plan.Known {
		again := cmp.Or(s.Again[i], &Again{Problem: s.Unknown[i]})
		r.Again = append(r.Again, KnownReport{ID: k.ID, Again: *again})
	}
	return r
}

// list names units, ten of them.
func list(units []int) string {
	text := "unit " + strings.Trim(strings.ReplaceAll(fmt.Sprint(units[:min(len(units), 10)]), " ", ", "), "[]")
	if more := len(units) - 10; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
