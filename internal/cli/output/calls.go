package output

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// Calls are what users called in the episodes that this process has run, and which operations of two users met.
type Calls struct {
	times map[string]map[string]int  // by operation and outcome
	args  map[string]map[string]bool // by operation: some of them
	met   map[string]bool            // "a & b": of two clients at the same time; "a, b": one after the other by one user
}

// argsMax is how many arguments of an operation are told apart.
const argsMax = 100

func NewCalls() *Calls {
	return &Calls{map[string]map[string]int{}, map[string]map[string]bool{}, map[string]bool{}}
}

// Note notes the operations of an episode, which are in the order of their calls.
func (c *Calls) Note(_ int, ops []*world.Op) {
	for i, op := range ops {
		if c.times[op.Name] == nil {
			c.times[op.Name], c.args[op.Name] = map[string]int{}, map[string]bool{}
		}
		c.times[op.Name][op.Outcome.String()]++
		if len(c.args[op.Name]) < argsMax {
			c.args[op.Name][op.Arg] = true
		}
		before := false
		for _, other := range slices.Backward(ops[:i]) {
			switch {
			case other.Client != op.Client:
				if other.Return == 0 || other.Return > op.Call {
					c.met[atOnce(op.Name, other.Name)] = true
				}
			case other.User == op.User && !before:
				c.met[inTurn(other.Name, op.Name)], before = true, true
			}
		}
	}
}

func atOnce(a, b string) string { return min(a, b) + " & " + max(a, b) }
func inTurn(a, b string) string { return a + ", " + b }

// Called is what is said of one operation of the recipe.
type Called struct {
	Outcomes map[string]int `json:"outcomes"` // how often: ok, fail, unknown, or running when the episode was over
	Args     int            `json:"args"`     // how many different ones, up to 100
	// NeverWith are the operations of another client that were never under way at the same time, NeverThen those that were
	// never the next of the same user, though the episodes have both.
	NeverWith []string `json:"never_with,omitempty"`
	NeverThen []string `json:"never_then,omitempty"`
}

// Called says of each operation how often it was called, and what it never met. Of nil it says nothing.
func (c *Calls) Called() map[string]Called {
	all := map[string]Called{}
	if c == nil {
		return nil
	}
	for op, times := range c.times {
		o := Called{Outcomes: times, Args: len(c.args[op])}
		for _, other := range slices.Sorted(maps.Keys(c.times)) {
			if !c.met[atOnce(op, other)] {
				o.NeverWith = append(o.NeverWith, other)
			}
			if !c.met[inTurn(op, other)] {
				o.NeverThen = append(o.NeverThen, other)
			}
		}
		all[op] = o
	}
	return all
}

// Print says it, and which properties of the result's kind were put to the test. Of nil it prints nothing.
func (c *Calls) Print(w io.Writer, r sim.Result) {
	if c == nil || len(c.times) == 0 { // other processes have run all
		return
	}
	fmt.Fprintln(w, "\noperations, and which of another client (&) or next of the same user (then) they never met:")
	all := c.Called()
	for _, op := range slices.Sorted(maps.Keys(all)) {
		o, args := all[op], ""
		if o.Args > 1 {
			args = fmt.Sprintf("; %d arguments", o.Args)
		}
		fmt.Fprintf(w, "  %-13s %s%s%s%s\n", op, byName(o.Outcomes), args, never("; & ", o.NeverWith), never("; then ", o.NeverThen))
	}
	if k, err := workload.KindNamed(r.Workload); err == nil {
		uncalled := slices.DeleteFunc(slices.Clone(k.Model.Operations), func(op string) bool { return c.times[op] != nil })
		if len(uncalled) > 0 {
			fmt.Fprintln(w, never("  never called, perhaps as the recipe has no such method: ", uncalled))
		}
	}
	if broken := r.Sensitivity.Broken; len(broken) > 0 {
		fmt.Fprintf(w, "\nproperties that planted errors broke, and how often: %s\n", byName(broken))
	}
}

// byName lists what was counted by name.
func byName(counts map[string]int) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		all = append(all, fmt.Sprintf("%s %d", name, counts[name]))
	}
	return strings.Join(all, ", ")
}

// never lists names after a beginning; it is empty if there are none.
func never(begin string, names []string) string {
	if len(names) == 0 {
		return ""
	}
	return begin + strings.Join(names, ", ")
}
