package campaign

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/tally"
)

// SumFormat is the first field of every sum.
const SumFormat = "zktorture sum 1"

// Sum is what came of the units of a campaign so far. It is JSON, from which a coordinator goes on ([Plan.ReadSum]). It is
// not for several goroutines.
type Sum struct {
	Format  string         `json:"format"` // [SumFormat]
	Plan    string         `json:"plan"`   // the digest of the plan
	Parts   []tally.Part   `json:"parts"`  // of each job
	Again   map[int]*Again `json:"again"`  // what came of known failures, by their place in the plan
	Done    map[int]string `json:"done"`   // units of which there is a result, with its digest
	Unknown map[int]string `json:"unknown"`
	Twice   int            `json:"twice"`   // results of units that were done already, which were only compared
	Unequal []int          `json:"unequal"` // units whose results differ and should not: the first counts
	Took    Duration       `json:"took"`    // for how long coordinators have been at work

	plan *Plan
}

// NewSum returns the sum of no units.
func NewSum(p *Plan) *Sum {
	return &Sum{
		Format: SumFormat, Plan: p.Digest(), Parts: make([]tally.Part, len(p.list)), Again: map[int]*Again{},
		Done: map[int]string{}, Unknown: map[int]string{}, Unequal: []int{}, plan: p,
	}
}

// ReadSum reads the JSON of a sum of the plan's units.
func (p *Plan) ReadSum(text []byte) (*Sum, error) {
	s := NewSum(p)
	if err := json.Unmarshal(text, s); err != nil {
		return nil, fmt.Errorf("the sum of units cannot be read: %w", err)
	}
	if s.Format != SumFormat || s.Plan != p.Digest() || len(s.Parts) != len(p.list) {
		return nil, errors.New("the sum of units is of another plan or version")
	}
	return s, nil
}

// Add adds the result of a unit. A unit counts once: what comes again is compared. The error is for a result that is
// not of this plan; it changes nothing.
func (s *Sum) Add(r UnitResult) error {
	u, ok := s.plan.Unit(r.Unit.Number)
	switch {
	case r.Format != UnitFormat || r.Plan != s.Plan:
		return fmt.Errorf("the result of unit %d is of another plan or version", r.Unit.Number)
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
		if i, noted := slices.BinarySearch(s.Unequal, u.Number); !noted && before != digest && s.plan.repeatable(u) {
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
	r := &Report{Format: ReportFormat, Plan: s.plan, Digest: s.Plan, Units: s.units(), Unknown: map[int]string{}, Unequal: s.Unequal}
	of := make([][]int, len(s.Parts)) // units of each job without a result
	for _, n := range s.missing() {
		r.Unknown[n] = cmp.Or(s.Unknown[n], "no result came")
		if u, _ := s.plan.Unit(n); u.Job >= 0 {
			of[u.Job] = append(of[u.Job], n)
		}
	}
	for i, j := range jobs {
		if len(of[i]) > 0 {
			j.Reason = s.why(of[i], j.Reason)
			if j.Verdict == sim.VerdictOK {
				j.Verdict = sim.VerdictUnknown
			}
		}
		r.Jobs = append(r.Jobs, j)
	}
	for i, k := range s.plan.Known {
		again := s.Again[i]
		if again == nil {
			again = &Again{Problem: s.why([]int{i}, "")}
		}
		r.Again = append(r.Again, KnownReport{ID: k.ID, Again: *again})
	}
	return r
}

// units is how many units the campaign had: of one that lasts as long as there is time those that came to an end.
func (s *Sum) units() int {
	return cmp.Or(s.plan.Units(), len(s.Done)+len(s.Unknown))
}

// missing lists the units without a result: those that are unknown and, unless the plan has as many as there is time
// for, those that never came.
func (s *Sum) missing() []int {
	if s.plan.Units() == 0 {
		return slices.Sorted(maps.Keys(s.Unknown))
	}
	var missing []int
	for u := range s.plan.Each() {
		if _, done := s.Done[u.Number]; !done {
			missing = append(missing, u.Number)
		}
	}
	return missing
}

// why is the reason of what has no verdict as units are missing.
func (s *Sum) why(units []int, besides string) string {
	reason := "no result of " + ranges(units)
	for _, n := range units {
		if why, _, _ := strings.Cut(s.Unknown[n], "\n"); why != "" {
			reason += fmt.Sprintf("; unit %d: %s", n, why)
			break
		}
	}
	if besides != "" {
		reason += "; " + besides
	}
	return reason
}

// ranges names units, those that follow each other by the first and the last: "units 3, 7-9".
func ranges(units []int) string {
	var parts []string
	for i := 0; i < len(units); {
		j := i
		for j+1 < len(units) && units[j+1] == units[j]+1 {
			j++
		}
		if i == j {
			parts = append(parts, fmt.Sprint(units[i]))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", units[i], units[j]))
		}
		i = j + 1
	}
	if len(units) == 1 {
		return "unit " + parts[0]
	}
	return "units " + strings.Join(parts, ", ")
}
