package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	"github.com/zktorture/zktorture/cmd/internal/cli/output"
	"github.com/zktorture/zktorture/fakezk/wire/strike"
	"github.com/zktorture/zktorture/live"
	"github.com/zktorture/zktorture/live/worker"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// Lists are the arguments with which this command lists the values of flags and arguments.
var Lists = map[string]string{"kind": "list kinds", "strategy": "list strategies", "model": "list models"}

// KindNames are the names of kinds, with commas between them.
func KindNames() string {
	var names []string
	for _, k := range workload.Kinds() {
		names = append(names, k.Name)
	}
	return strings.Join(names, ",")
}

func recipeNames(kind *workload.Kind) console.NameSet {
	set := console.NameSet{What: "recipe", Of: kind.Name, List: "list kinds"}
	for _, e := range kind.Recipes {
		set.Known = append(set.Known, e.Recipe)
	}
	return set
}

// SimFaults are the faults of --faults in simulation, and liveFaults those on real servers.
type (
	SimFaults struct {
		Text string
		Set  world.Faults
	}
	liveFaults struct {
		text string
		set  strike.Set
	}
)

// UnmarshalText implements encoding.TextUnmarshaler.
func (f *SimFaults) UnmarshalText(text []byte) (err error) {
	known := console.NamesOf(world.EveryFault.Each())
	if err := knownFaults(string(text), known, "servers suffer it, not simulated clients: torture live has it"); err != nil {
		return err
	}
	f.Text = string(text)
	f.Set, err = world.ParseFaults(f.Text)
	return err
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (f *liveFaults) UnmarshalText(text []byte) (err error) {
	known := console.NamesOf((live.ClientFaults | live.ProcessFaults | live.ServerFaults).Each())
	if err := knownFaults(string(text), known, "real servers cannot be made to do it: torture run has it"); err != nil {
		return err
	}
	f.text = string(text)
	f.set, err = live.ParseFaults(f.text)
	return err
}

// knownFaults finds what is no fault here, and says of the faults of other commands where they are.
func knownFaults(text string, known []string, elsewhere string) error {
	set := console.NameSet{What: "fault", Known: append(output.FaultNames(), "all", "none"), List: "list faults"}
	for name := range strings.SplitSeq(text, ",") {
		switch name = strings.TrimPrefix(strings.TrimSpace(name), "-"); {
		case !slices.Contains(set.Known, name):
			return &console.UnknownName{NameSet: set, Name: name}
		case name != "all" && name != "none" && !slices.Contains(known, name):
			return fmt.Errorf("%s: %s", name, elsewhere)
		}
	}
	return nil
}

// FindRecipe finds the workload of a kind and a recipe that a user has typed; "" is the first of the kind. Known bugs are
// for simulated worlds: some are for the clients of other languages.
func FindRecipe(c *console.Context, kind, recipe, backend string) (*workload.Workload, error) {
	kinds := console.NameSet{What: "kind", Known: strings.Split(KindNames(), ","), List: Lists["kind"]}
	if err := kinds.Find(c, kind); err != nil {
		return nil, err
	}
	k, err := workload.KindNamed(kind)
	if err != nil {
		return nil, err
	}
	simulated, foreign := output.Simulates(backend), strings.HasPrefix(recipe, worker.Foreign)
	switch bug := func(e workload.Entry) bool { return e.Recipe == recipe }; {
	case foreign && simulated:
		return nil, errors.New("a recipe that another program serves needs servers: torture live")
	case recipe != "" && !foreign && !(simulated && slices.ContainsFunc(k.KnownBugs, bug)):
		if err := recipeNames(k).Find(c, recipe); err != nil {
			return nil, err
		}
	}
	return worker.Find(kind, recipe)
}
