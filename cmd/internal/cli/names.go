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

// KindNames are the names of kinds, with commas between them.
func KindNames() string {
	var names []string
	for _, k := range workload.Kinds() {
		names = append(names, k.Name)
	}
	return strings.Join(names, ",")
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
	all := append(output.FaultNames(), "all", "none")
	for name := range strings.SplitSeq(text, ",") {
		name = strings.TrimPrefix(strings.TrimSpace(name), "-")
		switch err := console.Known("fault", name, all); {
		case err != nil:
			return err
		case name != "all" && name != "none" && !slices.Contains(known, name):
			return fmt.Errorf("%s: %s", name, elsewhere)
		}
	}
	return nil
}

// FindRecipe finds the workload of a kind and a recipe that a user has typed; "" is the first of the kind. Known bugs are
// for simulated worlds: some are for the clients of other languages.
func FindRecipe(kind, recipe, backend string) (*workload.Workload, error) {
	if err := console.Known("kind", kind, strings.Split(KindNames(), ",")); err != nil {
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
		var known []string
		for _, e := range k.Recipes {
			known = append(known, e.Recipe)
		}
		if err := console.Known("recipe", recipe, known); err != nil {
			return nil, err
		}
	}
	return worker.Find(kind, recipe)
}
