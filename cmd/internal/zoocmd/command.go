// Package zoocmd is the command torture zoo, which looks for known bugs.
package zoocmd

import (
	"slices"

	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	"github.com/zktorture/zktorture/cmd/internal/manual"
	"github.com/zktorture/zktorture/zoo"
)

// Manual is what --help says of the command beside its flags.
var Manual = manual.Entry{
	Statuses: []manual.Status{
		{Code: console.ExitOK, Meaning: "Every known bug was found, and every fixed version is clean."},
		{Code: console.ExitViolation, Meaning: "A known bug was not found, or a fixed version was accused."},
		{Code: console.ExitUnknown, Meaning: "There was an error."},
	},
	Examples: []manual.Example{
		{Meaning: "Look for two known bugs.", Unrun: true, Line: "torture zoo W1 DQ6"},
		{Meaning: "Also make the counterexample happen on three real servers.", Unrun: true, Line: "torture zoo W1 --confirm"},
	},
}

func animalNames() console.NameSet {
	set := console.NameSet{What: "bug", List: "list zoo", AnyCase: true}
	for _, a := range slices.Concat(zoo.Animals(), zoo.Skipped()) {
		set.Known = append(set.Known, a.ID)
	}
	return set
}
