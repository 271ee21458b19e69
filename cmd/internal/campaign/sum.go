package campaign

import (
	"cmp"
	"context"
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

// Sum is what came of the units of a campaign so far. It is JSON: a coordinator goes on from it ([Plan.ReadSum]), and
// sums add up. It is not for several goroutines.
type Sum struct {
	Format  string         `json:"format"` // [SumFormat]
	Plan    string         `json:"plan"`   // the digest of the plan
	Parts   []tally.Part   `json:"parts"`  // of each job
	Again   map[int]*Again `json:"again"`  // what came of known failures, by their place in the plan
	Done    map[int]Digest `json:"done"`   // units of which there is a result
	Unknown map[int]string `json:"unknown"`
	Twice   int            `json:"twice"`   // results that were added of units that were done already, and only compared
	Unequal []int          `json:"unequal"` // units whose results differ and should not: the first counts

	plan *Plan
}

// NewSum returns the sum of no units.
func NewSum(p *Plan) (*Sum, error) {
	list, err := p.List()
	if err != nil {
		return nil, err
	}
	return &Sum{
		Format: SumFormat, Plan: p.Digest(), Parts: make([]tally.Part, len(list)), Again: map[int]*Again{},
		Done: map[int]Digest{}, Unknown: map[int]string{}, Unequal: []int{}, plan: p,
	}, nil
}

// ReadSum reads the JSON of a sum of the plan's units. The error says what is wrong.
func (p *Plan) ReadSum(text []byte) (*Sum, error) {
	s, err := NewSum(p)
	if err != nil {
		return nil, err
	}
	var read Sum
	if err := json.Unmarshal(text, &read); err != nil {
		return nil, fmt.Errorf("not a sum of units, or cut off: %w", err)
	}
	if err := s.Merge(&read); err != nil {
		return nil, err
	}
	s.Twice = read.Twice
	return s, nil
}

// checkOrigin returns an error for a result of another plan or version.
func checkOrigin(format, want, plan string, p *Plan) error {
	switch {
	case format != want:
		return fmt.Errorf("its format is %q, and this version reads %q", format, want)
	case plan != p.Digest():
		return fmt.Errorf("it is of another plan (digest %.12s, not %.12s): "+
			"take the plan and the program with which it was made", plan, p.Digest())
	}
	return nil
}

// Add adds the result of a unit. A unit counts once: what comes again is compared. The error is for a result that is
// not of this plan; it changes nothing.
func (s *Sum) Add(r UnitResult) error {
	if err := checkOrigin(r.Format, UnitFormat, r.Plan, s.plan); err != nil {
		return err
	}
	u, ok := s.plan.Unit(r.Unit.Number)
	switch {
	case !ok || u != r.Unit:
		return fmt.Errorf("the plan has no such unit: %+v", r.Unit)
	case r.Unknown != "":
		s.noteUnknown(u.Number, r.Unknown)
		return nil
	case (u.Job >= 0) != (r.Part != nil) || (u.Job < 0) != (r.Again != nil):
		return fmt.Errorf("the result of unit %d is incomplete: run the unit again", u.Number)
	}
	digest, err := r.Digest()
	if err != nil {
		return err
	}
	if before, done := s.Done[u.Number]; done {
		s.Twice++
		s.compare(u, before, digest)
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

// compare compares two results of a unit.
func (s *Sum) compare(u Unit, a, b Digest) {
	if a != b && s.plan.repeatable(u) {
		s.noteUnequal(u.Number)
	}
}

// repeatable reports whether a unit gives the same result again: over the wire that is not
// promised, see [world.WireNote].
func (p *Plan) repeatable(u Unit) bool {
	if u.Job < 0 {
		known := p.Known[u.Known].Counterexample
		return known.Exact || !known.Wire
	}
	job := p.made.list[u.Job]
	return job.Exact || !job.Wire
}

// noteUnequal notes a unit whose results differ.
func (s *Sum) noteUnequal(unit int) {
	if i, noted := slices.BinarySearch(s.Unequal, unit); !noted {
		s.Unequal = slices.Insert(s.Unequal, i, unit)
	}
}

// Merge adds another sum of the same plan. Of each job the two have no unit in common, or one has all of the other's:
// what was added up cannot be taken apart. The error changes nothing.
func (s *Sum) Merge(o *Sum) error {
	if err := checkOrigin(o.Format, SumFormat, o.Plan, s.plan); err != nil {
		return err
	}
	if !o.soundFor(s.plan) {
		return errors.New("the sum is incomplete: merge the files of the units instead")
	}
	mine, others := s.byJob(s.plan), o.byJob(s.plan)
	ways := make([]overlap, len(s.Parts))
	for job := range s.Parts {
		if ways[job] = overlapOf(mine[job], others[job]); ways[job] == partial {
			return fmt.Errorf("job %d (%v): both sums have some units, and each has others beside: "+
				"merge the files of the units instead", job, s.plan.made.list[job])
		}
	}
	parts := make([]tally.Part, len(s.Parts))
	for job, way := range ways {
		for _, sum := range way.counted(s, o) {
			if err := parts[job].Add(sum.Parts[job]); err != nil {
				return fmt.Errorf("job %d (%v): %w", job, s.plan.made.list[job], err)
			}
		}
	}
	s.Parts = parts
	s.take(o)
	return nil
}

// take takes all of another sum but the parts.
func (s *Sum) take(o *Sum) {
	for unit, digest := range o.Done {
		u, _ := s.plan.Unit(unit)
		if mine, done := s.Done[unit]; done {
			s.compare(u, mine, digest)
			continue
		}
		s.Done[unit] = digest
		delete(s.Unknown, unit)
		if u.Job < 0 {
			s.Again[u.Known] = o.Again[u.Known]
		}
	}
	for unit, reason := range o.Unknown {
		s.noteUnknown(unit, reason)
	}
	for _, unit := range o.Unequal {
		s.noteUnequal(unit)
	}
}

// soundFor reports whether a sum that comes from elsewhere has what belongs to its units.
func (s *Sum) soundFor(p *Plan) bool {
	for n := range s.Done {
		u, ok := p.Unit(n)
		if !ok || u.Job < 0 && s.Again[u.Known] == nil {
			return false
		}
	}
	for n := range s.Unknown {
		if _, ok := p.Unit(n); !ok {
			return false
		}
	}
	return len(s.Parts) == len(p.made.list)
}

// byJob returns the done units of each job.
func (s *Sum) byJob(p *Plan) []map[int]bool {
	units := make([]map[int]bool, len(s.Parts))
	for i := range units {
		units[i] = map[int]bool{}
	}
	for n := range s.Done {
		if u, _ := p.Unit(n); u.Job >= 0 {
			units[u.Job][n] = true
		}
	}
	return units
}

// overlap says how the units of two sums lie.
type overlap int

const (
	disjoint overlap = iota
	contains         // the first has all of the second's
	within           // the second has all of the first's
	partial
)

func overlapOf(a, b map[int]bool) overlap {
	common := 0
	for n := range a {
		if b[n] {
			common++
		}
	}
	switch common {
	case 0:
		return disjoint
	case len(b):
		return contains
	case len(a):
		return within
	}
	return partial
}

// counted are the sums of the two that count.
func (way overlap) counted(s, o *Sum) []*Sum {
	switch way {
	case contains:
		return []*Sum{s}
	case within:
		return []*Sum{o}
	}
	return []*Sum{s, o}
}

// Part returns the sum of a job's parts.
func (s *Sum) Part(job int) tally.Part { return s.Parts[job] }

// Conclude says what came of a job, in this process: see [Plan.Conclude].
func (s *Sum) Conclude(ctx context.Context, job int) (JobReport, error) {
	return s.plan.Conclude(ctx, job, s.Parts[job])
}

// Report puts what came of each job together. A job of which units gave no result is unknown, unless it broke a
// property.
func (s *Sum) Report(jobs []JobReport) *Report {
	r := &Report{Format: ReportFormat, Plan: s.plan, Digest: s.Plan, Units: s.units(), Unknown: map[int]string{}}
	missing := make([][]int, len(s.Parts))
	for _, n := range s.Missing() {
		r.Unknown[n] = cmp.Or(s.Unknown[n], "no result came")
		if u, _ := s.plan.Unit(n); u.Job >= 0 {
			missing[u.Job] = append(missing[u.Job], n)
		}
	}
	for i, j := range jobs {
		if len(missing[i]) > 0 {
			j.Reason = s.missed(missing[i], j.Reason)
			if j.Verdict == sim.VerdictOK {
				j.Verdict = sim.VerdictUnknown
			}
		}
		r.Jobs = append(r.Jobs, j)
	}
	for i, k := range s.plan.Known {
		again := s.Again[i]
		if again == nil {
			again = &Again{Problem: s.missed([]int{i}, "")}
		}
		r.Again = append(r.Again, KnownReport{ID: k.ID, Again: *again})
	}
	return r
}

// units is how many units the campaign had: of one that lasts as long as there is time those that came to an end.
func (s *Sum) units() int {
	return cmp.Or(s.plan.Units(), len(s.Done)+len(s.Unknown))
}

// Missing lists the units without a result: those that are unknown and, unless the plan has as many as there is time
// for, those that never came.
func (s *Sum) Missing() []int {
	if s.plan.Units() == 0 {
		return slices.Sorted(maps.Keys(s.Unknown))
	}
	var missing []int
	for n := range s.plan.Units() {
		if _, done := s.Done[n]; !done {
			missing = append(missing, n)
		}
	}
	return missing
}

// missed is the reason of what has no verdict as units are missing.
func (s *Sum) missed(units []int, besides string) string {
	reason := "no result of " + Ranges(units)
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

// Ranges names units, those that follow each other by the first and the last: "units 3, 7-9".
func Ranges(units []int) string {
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
