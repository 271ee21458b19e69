package torturecli

import (
	"fmt"
	"maps"
	"slices"

	"github.com/zktorture/zktorture/live"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/workload"
)

type listCmd struct{}

// Run executes the command.
func (listCmd) Run(c *commandContext) error {
	for _, kind := range workload.Kinds() {
		fmt.Fprintf(c.out, "%s\n", kind.Name)
		for _, promise := range kind.Promises {
			fmt.Fprintf(c.out, "    %s\n", promise)
		}
		for _, e := range kind.Recipes {
			fmt.Fprintf(c.out, "  --recipe %-28s %s\n", e.Recipe, e.Help)
		}
		fmt.Fprintln(c.out)
	}
	fmt.Fprintln(c.out, "faults (--faults, with the sets all, of those up to stall, and none)")
	for f := range sim.EveryFault.Each() {
		fmt.Fprintf(c.out, "  %-10s %s\n", f, f.Help())
	}
	fmt.Fprintf(c.out, "\non real servers clients can suffer %v; with --backend serve or ensemble servers, too\n",
		live.ClientFaults()|live.ProcessFaults)
	for f := range live.AllServerFaults.Each() {
		fmt.Fprintf(c.out, "  %-10s %s\n", f, f.Help())
	}
	fmt.Fprintln(c.out, "\nstrategies (--strategy)")
	for _, name := range slices.Sorted(maps.Keys(sim.Strategies)) {
		fmt.Fprintf(c.out, "  %-10s %s\n", name, sim.Strategies[name])
	}
	return nil
}
