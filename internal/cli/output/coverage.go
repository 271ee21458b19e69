package output

import (
	"fmt"
	"io"

	"github.com/zktorture/zktorture/sim"
)

// coverageLine says what a pass covers, and what is left; it is empty where something broke, and of real servers.
func coverageLine(r sim.Result) string {
	if r.Coverage == nil || r.Verdict == sim.VerdictViolation {
		return ""
	}
	return r.Coverage.String()
}

// printNever lists the ways in which faults could have hit operations and did not, if it is known which.
func printNever(w io.Writer, c *sim.Coverage) {
	if c == nil || len(c.Never) == 0 {
		return
	}
	fmt.Fprintln(w, "\nways for a fault to hit an operation that were possible and never happened:")
	fault := ""
	for _, p := range c.Never {
		if n := c.Faults[p.Fault]; p.Fault != fault {
			fault = p.Fault
			fmt.Fprintf(w, "%s: %d of %d\n", fault, n.Offered-n.Struck, n.Offered)
		}
		fmt.Fprintf(w, "  %v\n", p)
	}
}
