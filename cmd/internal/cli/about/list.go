// Package about has the command list: what there is in this program.
package about

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/zktorture/zktorture/cmd/internal/cli/console"
	"github.com/zktorture/zktorture/cmd/internal/cli/judges"
	"github.com/zktorture/zktorture/fakezk/wire/strike"
	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/linearizability/operations"
	"github.com/zktorture/zktorture/live"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/story"
	"github.com/zktorture/zktorture/workload"
	"github.com/zktorture/zktorture/zoo"
)

type ListCmd struct {
	What string `arg:"" optional:"" default:"" name:"section" help:"What to list: kinds (with their recipes and properties), faults, strategies, models, properties (what it means that they break), or zoo (recipes with known bugs, where the program has some). Default: all but the last two." enum:"${sections}"`
	JSON bool   `name:"json" help:"Print one JSON object."`
}

// Listing is the object that --json prints. What was not asked for is absent.
type Listing struct {
	Kinds        []ListedKind  `json:"kinds,omitempty"`
	Faults       []listedFault `json:"faults,omitempty"`        // of simulated worlds
	LiveFaults   []string      `json:"live_faults,omitempty"`   // those of them that clients of real servers suffer
	ServerFaults []ListedName  `json:"server_faults,omitempty"` // those of real servers
	ProxyFaults  []ListedName  `json:"proxy_faults,omitempty"`  // those of torture proxy
	ServeFaults  []ListedName  `json:"serve_faults,omitempty"`  // those of torture serve
	Strategies   []ListedName  `json:"strategies,omitempty"`
	Models       []listedModel `json:"models,omitempty"`
	Properties   []ListedName  `json:"properties,omitempty"`
	Zoo          []ListedBug   `json:"zoo,omitempty"`
}

type ListedName struct {
	Name string `json:"name"`
	Help string `json:"help"`
}

type ListedKind struct {
	Name       string           `json:"name"`
	Model      string           `json:"model,omitempty"` // for torture check
	Properties []listedProperty `json:"properties"`
	Recipes    []ListedName     `json:"recipes"` // the first is the default
}

// listedProperty is a promise. Without names it is a remark.
type listedProperty struct {
	Title string   `json:"title,omitempty"`
	Names []string `json:"names,omitempty"` // as violations name it
	Also  []string `json:"also,omitempty"`  // further names
	Help  string   `json:"help"`
	line  string
}

type listedFault struct {
	ListedName
	InAll bool `json:"in_all"` // of --faults all
}

type listedModel struct {
	Name       string   `json:"name"`
	Operations []string `json:"operations"`
}

type ListedBug struct {
	ID       string `json:"id"`
	Title    string `json:"title"`
	Source   string `json:"source"`
	Property string `json:"property"`
	Needs    string `json:"needs"` // faults
	Exact    bool   `json:"exact"` // found in exact mode only

	Kind   string `json:"kind"`
	Recipe string `json:"recipe"` // for torture run, as is …
	Fixed  string `json:"fixed"`  // … the same without the bug
}

// section is something that can be listed.
type section struct {
	name    string
	collect func(*Listing)
	print   func(io.Writer, *Listing)
	unasked bool // listed by default
}

// sections are all, in the order of the text.
var sections = []section{
	{"kinds", listKinds, printKinds, true},
	{"faults", listFaults, printFaults, true},
	{"strategies", listStrategies, printStrategies, true},
	{"models", listModels, printModels, true},
	{"properties", listProperties, printProperties, false},
	{"zoo", listZoo, printZoo, false},
}

// Sections are the names of the sections that there are, and "", with commas between them.
func Sections() (names string) {
	for _, s := range sections {
		names += "," + s.name
	}
	return names
}

func (l *ListCmd) Run(c *console.Context) error {
	var all Listing
	asked := slices.DeleteFunc(slices.Clone(sections), func(s section) bool {
		return s.name != l.What && (l.What != "" || !s.unasked)
	})
	for _, s := range asked {
		s.collect(&all)
	}
	if l.JSON {
		return console.WriteJSON(c.Stdout, all)
	}
	for i, s := range asked {
		if i > 0 {
			fmt.Fprintln(c.Stdout)
		}
		s.print(c.Stdout, &all)
	}
	return nil
}

func listKinds(all *Listing) {
	for _, kind := range workload.Kinds() {
		k := ListedKind{Name: kind.Name, Model: kind.Model.Name}
		for _, p := range kind.Promises {
			k.Properties = append(k.Properties, listedProperty{p.Title, p.Names, p.Also, p.Text, p.String()})
		}
		for _, e := range kind.Recipes {
			k.Recipes = append(k.Recipes, ListedName{e.Recipe, e.Help})
		}
		all.Kinds = append(all.Kinds, k)
	}
}

func printKinds(w io.Writer, all *Listing) {
	for i, kind := range all.Kinds {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintln(w, kind.Name)
		for _, p := range kind.Properties {
			fmt.Fprintf(w, "    %s\n", p.line)
		}
		for _, r := range kind.Recipes {
			fmt.Fprintf(w, "  --recipe %-28s %s\n", r.Name, r.Help)
		}
	}
}

func listFaults(all *Listing) {
	for f := range world.EveryFault.Each() {
		all.Faults = append(all.Faults, listedFault{ListedName{f.String(), f.Help()}, world.AllFaults.Has(f)})
	}
	all.LiveFaults = console.NamesOf((live.ClientFaults | live.ProcessFaults).Each())
	all.ServerFaults = listStrikes(slices.Collect(live.ServerFaults.Each()))
	all.ProxyFaults = listStrikes(strike.Faults(strike.OnProxy))
	all.ServeFaults = listStrikes(strike.Faults(strike.OnServe))
}

func listStrikes(faults []strike.Fault) (all []ListedName) {
	for _, f := range faults {
		all = append(all, ListedName{f.String(), f.Help()})
	}
	return all
}

func printFaults(w io.Writer, all *Listing) {
	fmt.Fprintln(w, "faults (--faults, with the sets all, of those up to stall, and none)")
	for _, f := range all.Faults {
		printName(w, f.ListedName)
	}
	fmt.Fprintf(w, "\non real servers clients can suffer %s; with torture live --start or --serve servers, too\n",
		strings.Join(all.LiveFaults, ","))
	for _, f := range all.ServerFaults {
		printName(w, f)
	}
	fmt.Fprintln(w, "\nfaults of torture proxy and torture serve")
	for _, f := range all.ProxyFaults {
		printName(w, f)
	}
	fmt.Fprintln(w, "\nof torture serve, also")
	for _, f := range all.ServeFaults {
		if !slices.Contains(all.ProxyFaults, f) {
			printName(w, f)
		}
	}
}

func printName(w io.Writer, n ListedName) { fmt.Fprintf(w, "  %-10s %s\n", n.Name, n.Help) }

// Strategies are those of torture run.
func Strategies() []string {
	return slices.Sorted(maps.Keys(sim.Strategies))
}

func listStrategies(all *Listing) {
	for _, name := range Strategies() {
		all.Strategies = append(all.Strategies, ListedName{name, sim.Strategies[name]})
	}
}

func printStrategies(w io.Writer, all *Listing) {
	fmt.Fprintln(w, "strategies (--strategy)")
	for _, s := range all.Strategies {
		printName(w, s)
	}
}

func listModels(all *Listing) {
	for _, name := range operations.Models() {
		m, _ := linearizability.ByName(name)
		all.Models = append(all.Models, listedModel{name, m.Operations})
	}
	for _, kind := range judges.Kinds() {
		all.Models = append(all.Models, listedModel{kind, judges.Operations(kind)})
	}
}

func printModels(w io.Writer, all *Listing) {
	fmt.Fprintln(w, "models of recorded histories (torture check --model), with their operations")
	for _, m := range all.Models {
		fmt.Fprintf(w, "  %-14s %s\n", m.Name, strings.Join(m.Operations, ", "))
	}
}

func listProperties(all *Listing) {
	for _, a := range story.AllAdvice() {
		for _, name := range a.Properties {
			all.Properties = append(all.Properties, ListedName{name, a.Meaning})
		}
	}
}

func printProperties(w io.Writer, all *Listing) {
	for _, p := range all.Properties {
		fmt.Fprint(w, console.Hanging(p.Name+": ", p.Help, "    "))
	}
}

// Zoo lists the recipes with known bugs.
func Zoo() (all []ListedBug) {
	for _, a := range slices.Concat(zoo.KnownBugs(), zoo.Skipped()) {
		broken := a.Broken()
		all = append(all, ListedBug{ID: a.ID, Title: a.Title, Source: a.Source, Property: a.Property, Needs: a.Needs,
			Exact: a.Exact, Kind: broken.Name(), Recipe: broken.Recipe(), Fixed: a.Fixed().Recipe()})
	}
	return all
}

func listZoo(all *Listing) { all.Zoo = Zoo() }

func printZoo(w io.Writer, all *Listing) {
	for _, a := range all.Zoo {
		exact := ""
		if a.Exact {
			exact = ", with --exact only"
		}
		fmt.Fprintf(w, "%-8s %s\n         breaks %s%s; %s\n", a.ID, a.Title, a.Property, exact, a.Source)
	}
}
