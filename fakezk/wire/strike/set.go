package strike

import (
	"fmt"
	"iter"
	"math/bits"
	"slices"
	"strings"

	"github.com/zktorture/zktorture/internal/faultset"
)

// Set is a set of faults.
type Set uint32

// SetOf is the set of some faults.
func SetOf(some ...Fault) (s Set) {
	for i, r := range rows {
		if slices.Contains(some, r.name) {
			s |= 1 << i
		}
	}
	return s
}

// Has reports whether a fault is in the set.
func (s Set) Has(f Fault) bool { return s&SetOf(f) != 0 }

// Each yields the faults of the set, in the order of the table.
func (s Set) Each() iter.Seq[Fault] {
	return func(yield func(Fault) bool) {
		for rest := s; rest != 0; rest &= rest - 1 {
			if !yield(rows[bits.TrailingZeros32(uint32(rest))].name) {
				return
			}
		}
	}
}

// String lists the names, with commas between them.
func (s Set) String() string { return strings.Join(names(slices.Collect(s.Each())), ",") }

// Parse reads a set of some faults, see [faultset.Parse], in which "all" is all of them.
func Parse(list string, from []Fault) ([]Fault, error) {
	all := SetOf(from...)
	set, err := faultset.Parse(list, all, func(name string) (Set, error) {
		if !all.Has(Fault(name)) {
			return 0, fmt.Errorf("unknown fault %q: there are %s, all and none", name, strings.Join(names(from), ", "))
		}
		return SetOf(Fault(name)), nil
	})
	return slices.Collect(set.Each()), err
}

func names(faults []Fault) (all []string) {
	for _, f := range faults {
		all = append(all, string(f))
	}
	return all
}
