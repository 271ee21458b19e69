package main

import (
	"fmt"

	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/storyindex"
)

// modelOf returns the model that histories of a recipe are judged against: what its workload judges them
// against. The error is for recipes that are judged by properties only, and for those of which the size of
// the object is not known.
func modelOf(kind, recipe string) (storyindex.Model, error) {
	name, size, p := kind, sizes[recipe], linearizability.Parameters{}
	flags := ""
	switch kind {
	case "barrier":
		name = "gate"
	case "doublebarrier":
		name, p.Parties, flags = "barrier", size, fmt.Sprintf(" --parties %d", size)
	case "semaphore":
		p.Permits, flags = size, fmt.Sprintf(" --permits %d", size)
	}
	if flags != "" && size == 0 {
		return storyindex.Model{}, fmt.Errorf("it is not known for how many the %s %s is", kind, recipe)
	}
	m, err := linearizability.ByName(name, p)
	if err != nil {
		return storyindex.Model{}, fmt.Errorf("histories of %s have no model", kind)
	}
	return storyindex.Model{Model: m, Flags: "--model " + name + flags}, nil
}

// sizes are the permits of semaphores and the parties of double barriers, by recipe.
var sizes = map[string]int{"ours": 2, "ours/3": 3}
