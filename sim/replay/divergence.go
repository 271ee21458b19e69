package replay

import (
	"fmt"
	"strings"

	"github.com/zktorture/zktorture/sim/internal/bubble"
)

// Divergence says that equal choices gave different runs: the recipe decides something that is no choice. Causes are
// goroutines of one client that run at the same time and reach for the same thing, a select with several ready cases,
// the order of a map, or randomness or a clock of its own. (crypto/rand is the world's.)
type Divergence struct {
	Step  int    `json:"step"`  // at which two runs first differ
	One   string `json:"one"`   // what happened then in one run, "" if it had ended
	Other string `json:"other"` // and in the other
}

// String says it in a sentence.
func (d *Divergence) String() string {
	text := fmt.Sprintf("equal choices gave different runs, first at step %d: %q in one and %q in the other",
		d.Step, strings.TrimSpace(d.One), strings.TrimSpace(d.Other))
	if bubble.Exact {
		return text + "; what decides is not covered by exact mode: an address, real time, a system call, or what another" +
			" process or bubble does"
	}
	return text + "; in exact mode (torture test, torture run --exact) what the Go runtime decides is a choice, too"
}

// repeatsMax bounds how often choices are run again until a run is the same.
const RepeatsMax = 20
