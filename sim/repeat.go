package sim

import (
	"fmt"
	"strings"
)

// Divergence says that equal choices gave different runs: the recipe decides something that is no choice. Causes are
// goroutines of one client that run at the same time and reach for the same thing, a select with several ready cases,
// the order of a map, or randomness or a clock of its own. (crypto/rand is the world's.)
type Divergence struct {
	Step  int      `json:"step"`            // at which two runs first differ
	One   string   `json:"one"`             // what happened then in one run, "" if it had ended
	Other string   `json:"other"`           // and in the other
	Ready []string `json:"ready,omitempty"` // where the recipe's goroutines stood that went on together before
}

// String says it in a sentence.
func (d *Divergence) String() string {
	text := fmt.Sprintf("equal choices gave different runs, first at step %d: %q in one and %q in the other",
		d.Step, strings.TrimSpace(d.One), strings.TrimSpace(d.Other))
	switch {
	case len(d.Ready) == 0:
		return text
	case exactBuild:
		return text + "; what decides is not covered by exact mode: an address, real time, a system call, or what another" +
			" process or bubble does; these goroutines went on: " + strings.Join(d.Ready, ", ")
	case len(d.Ready) == 1:
		return text + "; only the goroutine at " + d.Ready[0] +
			" was ready, so a select with several ready cases, a map's order, a clock or randomness decides"
	}
	return text + "; these goroutines were ready together: " + strings.Join(d.Ready, ", ")
}

// rerunShare: one of that many passing episodes is run again. Of a thousand that is sixteen: a recipe that differs in
// one of ten is noticed four times out of five, one that hardly ever differs is not.
const rerunShare = 64

// repeatsMax bounds how often choices are run again until a run is the same.
const repeatsMax = 20

// repeat runs choices again, with a trace.
func (c *campaign) repeat(choices Choices, watch *readiness) (*outcome, []Step) {
	var trace []Step
	cfg := c.cfg.episode(choices.Replay())
	cfg.trace, cfg.ready = &trace, watch
	return c.solo.run(cfg), trace
}

// settleRun gives a counterexample the trace of a run that breaks its property, and notes where runs of equal choices
// part.
func (c *campaign) settleRun(f *Found) {
	o, trace := c.repeat(f.Choices, nil)
	f.Divergence = c.divergence(f.Choices, o, trace) // nil if the campaign was interrupted
	for range repeatsMax {
		if f.Divergence == nil || o.breaks(f.Property) != nil {
			break
		}
		o, trace = c.repeat(f.Choices, nil)
	}
	if v := o.breaks(f.Property); v != nil {
		f.Violation = *v
	}
	f.Trace, f.Hash, f.History = trace, o.hash, o.History
	f.Clients, f.Faults, f.Steps, f.Wire = o.clients, o.faults, o.tortured, o.wire
}

// breaks returns the violation of a property, nil if there is none.
func (o *outcome) breaks(property string) *Violation {
	for i := range o.Violations {
		if o.Violations[i].Property == property {
			return &o.Violations[i]
		}
	}
	return nil
}

// comparisons is how often a run is compared with another one of the same choices.
const comparisons = 5

// divergence runs choices again and says where that first differs from a given run; nil if it never does.
func (c *campaign) divergence(choices Choices, o *outcome, trace []Step) *Divergence {
	var d *Divergence
	for range comparisons {
		other, line := c.repeat(choices, nil)
		if c.solo.frozen != nil || c.solo.interrupted() {
			return nil
		}
		if other.hash == o.hash && diverged(Lines(trace), Lines(line)) < 0 {
			continue
		}
		if p := parted(trace, line); d == nil || p.Step < d.Step {
			d = p
		}
	}
	if d != nil {
		d.Ready = c.ready(choices, d.Step)
	}
	return d
}

// ready tells which goroutines went on together before a step was over.
func (c *campaign) ready(choices Choices, step int) (places []string) {
	for range comparisons {
		watch := newReadiness(step)
		c.repeat(choices, watch)
		if p := watch.before(step); len(p) > len(places) {
			places = p
		}
	}
	return places
}

// parted names the first lines in which two traces differ.
func parted(x, y []Step) *Divergence {
	a, b := Lines(x), Lines(y)
	i := diverged(a, b)
	d := &Divergence{}
	for _, run := range []struct {
		steps []Step
		lines []string
		line  *string
	}{{y, b, &d.Other}, {x, a, &d.One}} {
		switch {
		case i >= 0 && i < len(run.lines):
			d.Step, *run.line = run.steps[i].N, run.lines[i]
		case len(run.steps) > 0:
			d.Step = max(d.Step, run.steps[len(run.steps)-1].N)
		}
	}
	return d
}

// Rerun says how many passing episodes were run again, and in how many of them equal choices gave another run.
type Rerun struct {
	Episodes int         `json:"episodes"`
	Differed int         `json:"differed"`
	First    *Divergence `json:"first,omitempty"` // of the first that differed; nil if none did
}

// rerunDue tells whether an episode is one of the passing ones that are run again: in exact mode all are.
func (c *campaign) rerunDue(index int, o *outcome) bool {
	return (index%rerunShare == 0 || exactBuild && !c.cfg.Once) && len(o.Violations) == 0 && o.Unknown == ""
}

// rerun runs an episode again and compares.
func (c *campaign) rerun(index int, o *outcome, ran *episodeConfig) {
	cfg := c.cfg.episode(o.choices.Replay())
	cfg.servers, cfg.dog, cfg.number = ran.servers, ran.dog, ran.number
	again := runEpisode(c.workload, cfg)
	if again.aborted == errInterrupted {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.part.Rerun.Episodes++
	if again.hash != o.hash {
		c.part.differ(1, &PartEpisode{Episode: index, Choices: o.choices, Price: []int{index}})
	}
}

// explainRerun finds out where the runs of the first episode that differed part; nil if none did, or no more do.
func (c *campaign) explainRerun() (d *Divergence) {
	differed := c.part.Differed
	if differed == nil || c.part.Frozen != "" || c.solo.frozen != nil || c.solo.interrupted() {
		return nil
	}
	for range repeatsMax / comparisons {
		o, trace := c.repeat(differed.Choices, nil)
		if d = c.divergence(differed.Choices, o, trace); d != nil {
			break
		}
	}
	return d
}
