package console

import (
	"fmt"
	"slices"
	"strings"
)

// Known returns an error that says which names there are, unless name is one of them. what is what they name.
func Known(what, name string, known []string) error {
	if slices.Contains(known, name) {
		return nil
	}
	return fmt.Errorf("unknown %s %q: there are %s", what, name, strings.Join(known, ", "))
}

// NamesOf returns the names of things.
func NamesOf[T fmt.Stringer](each func(func(T) bool)) (names []string) {
	for one := range each {
		names = append(names, one.String())
	}
	return names
}
