// Package faultset reads sets of faults as flags and plans name them.
package faultset

import (
	"fmt"
	"strings"
)

// Parse reads a set: names with commas between them, where "all" stands for all and "none" for none, and "-loss" leaves out
// a fault that the set has so far, as in "all,-loss". one finds a fault by its name.
func Parse[S ~uint16 | ~uint32](list string, all S, one func(name string) (S, error)) (set S, err error) {
	for name := range strings.SplitSeq(list, ",") {
		name, out := strings.CutPrefix(strings.TrimSpace(name), "-")
		switch {
		case name == "none" && !out:
		case name == "all" && !out:
			set |= all
		case name == "none" || name == "all":
			return 0, fmt.Errorf("-%s leaves out no single fault: name the faults, as in all,-loss,-expiry", name)
		default:
			f, err := one(name)
			switch {
			case err != nil:
				return 0, err
			case !out:
				set |= f
			case set == 0 || set&f != f:
				return 0, fmt.Errorf("-%s leaves out what is not there: write it behind a set that has %[1]s, as in all,-loss",
					name)
			default:
				set &^= f
			}
		}
	}
	return set, nil
}
