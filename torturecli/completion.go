package torturecli

import (
	"fmt"
	"maps"
	"slices"

	"github.com/zktorture/zktorture/ensemble/proxy/chaosproxy"
	"github.com/zktorture/zktorture/internal/completion"
	"github.com/zktorture/zktorture/live"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/wire/strike"
	"github.com/zktorture/zktorture/workload"
	"github.com/zktorture/zktorture/zoo"
)

// values are what completion cannot see in the flags themselves.
var values = completion.Values{
	"<workload>":       words(kindWords),
	"<id>":             words(animalWords),
	"<shell>":          completion.Names(completion.Shells...),
	"man <command>":    completion.Commands,
	"--strategy":       words(strategyWords),
	"--model":          words(modelWords),
	"--backend":        completion.Names("sim", "wire", "serve", "ensemble", "live"),
	"zoo --backend":    completion.Names("sim", "ensemble"),
	"replay --backend": completion.Names("sim", "ensemble"),
	"--nodes":          completion.Names("1", "3", "5"),
	"serve --servers":  completion.Names("1", "3", "5"),
	"run --recipe":     recipeWords,
	"run --faults":     faults(runFaults),
	"proxy --faults":   faults(strikeWords(chaosproxy.Faults...)),
	"serve --faults":   faults(strikeWords(serveFaults()...)),
	"test <args>":      completion.Any(completion.AnyFile),
	"run --out":        completion.Any(completion.Folders),
	"merge --out":      completion.Any(completion.Folders),
	"--html":           completion.Any(completion.AnyFile),
}

func words(all func() []completion.Candidate) func(*completion.Line) completion.Answer {
	return func(*completion.Line) completion.Answer { return completion.Answer{Words: all()} }
}

// faults is for lists of faults.
func faults(names func() []completion.Candidate) func(*completion.Line) completion.Answer {
	sets := []completion.Candidate{{Word: "all"}, {Word: "none"}}
	return func(line *completion.Line) completion.Answer {
		return completion.Answer{Words: line.List(sets, names())}
	}
}

func kindWords() (all []completion.Candidate) {
	for _, kind := range workload.Kinds() {
		all = append(all, completion.Candidate{Word: kind.Name, Help: fmt.Sprintf("%d recipes", len(kind.Recipes))})
	}
	return all
}

// recipeWords are the recipes of the kind on the line; all if there is none yet.
func recipeWords(line *completion.Line) (answer completion.Answer) {
	for _, e := range workload.Entries() {
		if len(line.Args) == 0 || line.Args[0] == e.Kind {
			answer.Words = append(answer.Words, completion.Candidate{Word: e.Recipe, Help: e.Help})
		}
	}
	return answer
}

func animalWords() (all []completion.Candidate) {
	for _, a := range slices.Concat(zoo.Animals(), zoo.Skipped()) {
		all = append(all, completion.Candidate{Word: a.ID, Help: a.Title})
	}
	return all
}

func strategyWords() (all []completion.Candidate) {
	for _, name := range slices.Sorted(maps.Keys(sim.Strategies)) {
		all = append(all, completion.Candidate{Word: name, Help: sim.Strategies[name]})
	}
	return all
}

func modelWords() (all []completion.Candidate) {
	for _, kind := range workload.Kinds() {
		word := completion.Candidate{Word: kind.Model.Name}
		if word.Word != "" && !slices.Contains(all, word) {
			all = append(all, word)
		}
	}
	return all
}

// runFaults are the faults that can strike in torture run, on whatever backend.
func runFaults() (all []completion.Candidate) {
	for f := range sim.EveryFault.Each() {
		all = append(all, completion.Candidate{Word: f.String(), Help: f.Help()})
	}
	for f := range live.AllServerFaults.Each() {
		if !slices.ContainsFunc(all, func(c completion.Candidate) bool { return c.Word == f.String() }) {
			all = append(all, completion.Candidate{Word: f.String(), Help: f.Help()})
		}
	}
	return all
}

func strikeWords(faults ...strike.Fault) func() []completion.Candidate {
	return func() (all []completion.Candidate) {
		for _, f := range faults {
			all = append(all, completion.Candidate{Word: string(f)})
		}
		return all
	}
}

// serveFaults are those that torture serve knows.
func serveFaults() []strike.Fault { return (&serveCmd{}).strikable() }
