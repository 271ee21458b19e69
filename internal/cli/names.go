package cli

import (
	"slices"
	"strings"

	"github.com/zktorture/zktorture/fakezk/wire/strike"
	"github.com/zktorture/zktorture/internal/cli/console"
	"github.com/zktorture/zktorture/internal/cli/output"
	"github.com/zktorture/zktorture/live"
	"github.com/zktorture/zktorture/live/worker"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// lists are the arguments with which this command lists the values of flags and arguments.
var lists = map[string]string{"workload": "list kinds", "strategy": "list strategies", "model": "list models"}

// kindNames are the names of kinds, with commas between them.
func kindNames() string {
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

// runFaults are the faults that a run may have. Which it has depends on where it runs.
type runFaults struct {
	text    string
	sim     world.Faults
	live    strike.Set
	simErr  error
	liveErr error
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (f *runFaults) UnmarshalText(text []byte) error {
	f.text = string(text)
	set := console.NameSet{What: "fault", Known: append(output.FaultNames(), "all", "none"), List: "list faults"}
	for name := range strings.SplitSeq(f.text, ",") {
		if name = strings.TrimPrefix(strings.TrimSpace(name), "-"); !slices.Contains(set.Known, name) {
			return &console.UnknownName{NameSet: set, Name: name}
		}
	}
	f.sim, f.simErr = world.ParseFaults(f.text)
	f.live, f.liveErr = live.ParseFaults(f.text)
	return nil
}

// findRecipe finds the workload of a kind and a recipe that a user has typed; "" is the first of the kind. Known bugs are
// for simulated worlds: some are for the clients of other languages.
func findRecipe(c *console.Context, kind, recipe, backend string) (*workload.Workload, error) {
	k, err := workload.KindNamed(kind)
	if err != nil {
		return nil, err
	}
	simulated := output.Simulates(backend) && slices.ContainsFunc(k.KnownBugs, func(e workload.Entry) bool { return e.Recipe == recipe })
	if recipe != "" && !strings.HasPrefix(recipe, worker.Foreign) && !simulated {
		if err := recipeNames(k).Find(c, recipe); err != nil {
			return nil, err
		}
	}
	return worker.Find(kind, recipe)
}
