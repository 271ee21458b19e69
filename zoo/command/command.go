// Package command makes the commands of the zoo: torture zoo and list zoo. A main function imports it for that
// alone.
package command

import (
	"slices"

	"github.com/zktorture/zktorture/internal/cli"
	"github.com/zktorture/zktorture/internal/cli/about"
	"github.com/zktorture/zktorture/internal/cli/console"
	"github.com/zktorture/zktorture/internal/manual"
	"github.com/zktorture/zktorture/zoo"
)

func init() {
	cli.Extend(func() any { return new(commands) }, said)
	about.Zoo = list
}

type commands struct {
	Zoo zooCmd `cmd:"" group:"more" help:"Run recipes with known bugs: check that each bug is found, and that the fixed recipe passes."`
}

var said = manual.Manual{
	"zoo": {
		Statuses: []manual.Status{
			{Code: console.ExitOK, Meaning: "Every known bug was found, and every fixed version is clean; or the demonstration was shown."},
			{Code: console.ExitViolation, Meaning: "A known bug was not found, or a fixed version was accused."},
			{Code: console.ExitUnknown, Meaning: "There was an error."},
		},
		Examples: []manual.Example{
			{Meaning: "Show one bug, its story and its fix.", Line: "torture zoo --demo --no-pause"},
			{Meaning: "Look for two known bugs.", Unrun: true, Line: "torture zoo W1 DQ6"},
			{Meaning: "Also make the counterexample happen on three real servers.", Unrun: true, Line: "torture zoo W1 --confirm"},
		},
	},
}

// everyAnimal lists those of this program, and those that it skips.
func everyAnimal() []zoo.Animal { return slices.Concat(zoo.Animals(), zoo.Skipped()) }

func list() (all []about.ListedAnimal) {
	for _, a := range everyAnimal() {
		broken := a.Broken()
		all = append(all, about.ListedAnimal{ID: a.ID, Title: a.Title, Source: a.Source, Property: a.Property, Needs: a.Needs,
			Exact: a.Exact, Kind: broken.Name(), Recipe: broken.Recipe(), Twin: a.Twin().Recipe()})
	}
	return all
}

func animalNames() console.NameSet {
	set := console.NameSet{What: "bug", List: "list zoo", AnyCase: true}
	for _, a := range everyAnimal() {
		set.Known = append(set.Known, a.ID)
	}
	return set
}
