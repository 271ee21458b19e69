package strike

import (
	"fmt"
	"iter"
	"math/bits"
	"slices"
	"strings"
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

// Parse reads a list of some of the faults, with commas between them; "all" is all of them and "none" is none.
func Parse(list string, from []Fault) ([]Fault, error) {
	switch list {
	case "all":
		return from, nil
	case "none":
		return nil, nil
	}
	var read []Fault
	for name := range strings.SplitSeq(list, ",") {
		if !slices.Contains(from, Fault(name)) {
			return nil, fmt.Errorf("unknown fault %q: there are %s, all and none", name,
				strings.Join(names(from), ", "))
		}
		read = append(read, Fault(name))
	}
	return read, nil
}

func names(faults []Fault) (all []string) {
	for _, f := range faults {
		all = append(all, string(f))
	}
	return all
}
