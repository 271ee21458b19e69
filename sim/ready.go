package sim

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// readiness notes, in a run made for that alone, which goroutines of the recipe went on together: those whose stacks
// differ from when the world last came to rest.
type readiness struct {
	until int // the last step that matters
	last  map[string]string
	moved []moved
}

// moved is where the goroutines stood that went on in a step.
type moved struct {
	step   int
	places []string
}

func newReadiness(until int) *readiness { return &readiness{until: until} }

// look is called when every goroutine is blocked again.
func (r *readiness) look(step int) {
	if r == nil || step > r.until {
		return
	}
	now := goroutinesOfBubble()
	m := moved{step: step}
	for id, stack := range now {
		before, known := r.last[id]
		switch {
		case !known && r.last != nil:
			m.places = append(m.places, standing(stack))
		case known && before != stack:
			m.places = append(m.places, standing(before))
		}
	}
	for id, before := range r.last {
		if _, there := now[id]; !there {
			m.places = append(m.places, standing(before))
		}
	}
	r.last = now
	if len(m.places) > 0 {
		slices.Sort(m.places)
		r.moved = append(r.moved, m)
	}
}

// before returns where the goroutines stood that went on together last before a step was over; else where the last
// single one stood.
func (r *readiness) before(step int) []string {
	var alone []string
	for _, m := range slices.Backward(r.moved) {
		if m.step > step {
			continue
		}
		if len(m.places) > 1 {
			return m.places
		}
		if alone == nil {
			alone = m.places
		}
	}
	return alone
}

var bubbleNumber = regexp.MustCompile(`synctest bubble (\d+)`)

// goroutinesOfBubble returns the stacks of the caller's bubble by goroutine, the simulator's own left out.
func goroutinesOfBubble() map[string]string {
	stacks := allStacks(stackBytesMax)
	mine := bubbleNumber.FindString(stacks[0]) + "]"
	all := map[string]string{}
	for _, stack := range stacks[1:] {
		head, rest, _ := strings.Cut(stack, "\n")
		if id, _, _ := strings.Cut(head, " ["); strings.Contains(head, mine) && !ofSimulator(stack) {
			all[id] = rest
		}
	}
	return all
}

// standing names the innermost place of a stack in the recipe.
func standing(stack string) string {
	lines := strings.Split(stack, "\n")
	for i := 0; i+1 < len(lines); i += 2 {
		function := lines[i][:max(strings.LastIndexByte(lines[i], '('), 0)]
		if function == "" || foreign(function) {
			continue
		}
		file, _, _ := strings.Cut(strings.TrimSpace(lines[i+1]), " ")
		return fmt.Sprintf("%s (%s)", path.Base(function), path.Base(file))
	}
	return "a goroutine of the simulator"
}

// foreign tells whether a function is not the recipe's.
func foreign(function string) bool {
	pkg, _, _ := strings.Cut(path.Base(function), ".")
	dir := path.Dir(function)
	if dir == "." { // the standard library's
		return slices.Contains([]string{"runtime", "sync", "time", "context", "reflect", "testing", "io", "bufio", "net", "created by"}, pkg)
	}
	return dir == "internal" || strings.HasPrefix(dir, "internal/") || dir == "sync" || dir == "testing" ||
		dir == "github.com/zktorture/zktorture" && (pkg == "sim" || pkg == "fakezk")
}
