package torturecli

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/zktorture/zktorture/fakezk/server"
	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/live"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/wire/strike"
	"github.com/zktorture/zktorture/worker"
	"github.com/zktorture/zktorture/workload"
	"github.com/zktorture/zktorture/zoo"
)

// nameSet is a set of names that a user can type.
type nameSet struct {
	what  string   // one of them is, such as strategy
	of    string   // the thing that they are of, if any
	known []string // the names
	list  string   // the arguments with which this command lists them; "" if the message does

	anyCase bool // upper and lower case are the same
}

// suggestionsMax is how many names are suggested in the place of an unknown one.
const suggestionsMax = 3

// find returns an error that suggests names unless name is known.
func (n nameSet) find(c *commandContext, name string) error {
	if slices.ContainsFunc(n.known, func(k string) bool { return k == name || n.anyCase && strings.EqualFold(k, name) }) {
		return nil
	}
	text := fmt.Sprintf("unknown %s %q", n.what, name)
	if n.of != "" {
		text += " of " + n.of
	}
	close := nearest(name, n.known)
	see := fmt.Sprintf("see %s %s", c.self, n.list)
	switch {
	case n.list == "" && len(close) == 0:
		return fmt.Errorf("%s: there are %s", text, alternatives(n.known, "and"))
	case n.list == "":
		return fmt.Errorf("%s: did you mean %s?", text, alternatives(close, "or"))
	case len(close) == 0:
		return fmt.Errorf("%s: %s", text, see)
	}
	return fmt.Errorf("%s: did you mean %s? If not, %s", text, alternatives(close, "or"), see)
}

// findAll looks up the names of a list with commas in between.
func (n nameSet) findAll(c *commandContext, list string) error {
	for name := range strings.SplitSeq(list, ",") {
		if err := n.find(c, strings.TrimSpace(name)); err != nil {
			return err
		}
	}
	return nil
}

// nearest returns the known names that a user may have meant, the likeliest first: those that need few edits, and those
// of which the name is a part.
func nearest(name string, known []string) (close []string) {
	name = strings.ToLower(name)
	distance := map[string]int{}
	for _, k := range known {
		d := edits(name, strings.ToLower(k))
		if part := len(name) > 2 && strings.Contains(strings.ToLower(k), name); part {
			d = min(d, 1)
		}
		if d <= max(1, len(name)/3) {
			distance[k] = d
		}
	}
	close = slices.SortedFunc(maps.Keys(distance), func(a, b string) int {
		return cmp.Or(distance[a]-distance[b], len(a)-len(b), strings.Compare(a, b))
	})
	likely := 0
	for likely < min(len(close), suggestionsMax) && distance[close[likely]] <= distance[close[0]]+1 {
		likely++
	}
	return close[:likely]
}

// edits is the edit distance of two texts in which two neighbours that are swapped count as one edit (optimal string
// alignment).
func edits(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			changed := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				changed++
			}
			rows[i][j] = min(changed, rows[i-1][j]+1, rows[i][j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}

// alternatives are names as in a sentence: a, b or c.
func alternatives(names []string, conjunction string) string {
	if n := len(names) - 1; n > 0 {
		return strings.Join(names[:n], ", ") + " " + conjunction + " " + names[n]
	}
	return strings.Join(names, "")
}

// nameSets are the sets that tags refer to.
var nameSets = map[string]func() nameSet{
	"kinds": kindNames, "strategies": strategyNames, "models": modelNames, "animals": animalNames,
}

func kindNames() nameSet {
	set := nameSet{what: "workload", list: "list kinds"}
	for _, k := range workload.Kinds() {
		set.known = append(set.known, k.Name)
	}
	return set
}

func recipeNames(kind *workload.Kind) nameSet {
	set := nameSet{what: "recipe", of: kind.Name, list: "list kinds"}
	for _, e := range kind.Recipes {
		set.known = append(set.known, e.Recipe)
	}
	return set
}

func strategyNames() nameSet {
	return nameSet{what: "strategy", known: slices.Sorted(maps.Keys(sim.Strategies)), list: "list strategies"}
}

func modelNames() nameSet {
	return nameSet{what: "model", known: linearizability.Names(), list: "list models"}
}

func animalNames() nameSet {
	set := nameSet{what: "animal", list: "list zoo", anyCase: true}
	for _, a := range slices.Concat(zoo.Animals(), zoo.Skipped()) {
		set.known = append(set.known, a.ID)
	}
	return set
}

// simFaultNames are the faults of simulated worlds.
func simFaultNames() nameSet {
	return nameSet{what: "fault", known: append(namesOf(sim.EveryFault.Each()), "all", "none"), list: "list faults"}
}

// liveFaultNames are the faults of real servers and their clients, and those that only simulated worlds have: of these
// it is another mistake to ask for them.
func liveFaultNames() nameSet {
	set := simFaultNames()
	set.known = append(set.known, namesOf(live.AllServerFaults.Each())...)
	return set
}

// wireFaultNames are the faults of what stands between clients and servers.
func wireFaultNames(faults []strike.Fault) nameSet {
	set := nameSet{what: "fault"}
	for _, f := range faults {
		set.known = append(set.known, string(f))
	}
	set.known = append(set.known, "all", "none")
	return set
}

// servedFaults are the faults of torture serve.
func servedFaults() []strike.Fault { return server.FaultsOf(serversMax) }

// serversMax is the largest number of servers of torture serve.
const serversMax = 5

func namesOf[T fmt.Stringer](each func(func(T) bool)) (names []string) {
	for one := range each {
		names = append(names, one.String())
	}
	return names
}

// findRecipe finds the workload of a kind and a recipe that a user has typed; "" is the first of the kind. Simulated
// worlds have the animals of the zoo and their twins, too.
func findRecipe(c *commandContext, kind, recipe, backend string) (*workload.Workload, error) {
	if w := zoo.Workload(kind, recipe); w != nil && simulates(backend) {
		return w, nil
	}
	k, err := workload.KindNamed(kind)
	if err == nil && recipe != "" && !strings.HasPrefix(recipe, worker.Foreign) {
		err = recipeNames(k).find(c, recipe)
	}
	if err != nil {
		return nil, err
	}
	return worker.Find(kind, recipe)
}
