package linearizability

import (
	"fmt"
	"math"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/zktorture/zktorture/linearizability/internal/interval"
	"github.com/zktorture/zktorture/linearizability/internal/step"
)

// judge asks porcupine about parts of one history, within one time limit.
type judge struct {
	model    *Model
	spec     porcupine.Model
	timeout  time.Duration
	deadline time.Time
	memory   int64    // in bytes
	effort   int64    // how many entries of porcupine's tables explanations may still take
	short    string   // why porcupine could not do with that; empty if it could
	tried    []string // what could not decide, and why

	unexplained bool // as in [Options]
}

func newJudge(m *Model, o Options) *judge {
	timeout := o.Timeout
	if timeout <= 0 {
		timeout = timeoutDefault
	}
	memory := o.MemoryLimit
	if memory <= 0 {
		memory = memoryDefault
	}
	return &judge{model: m, spec: m.spec, timeout: timeout, deadline: time.Now().Add(timeout), memory: memory,
		effort: math.MaxInt64, unexplained: o.Unexplained}
}

// The explanation of a violation has bounds of its own: that it takes long is no reason to doubt the violation. What
// bounds it should not depend on how busy the machine is, so it is nearly always the effort.
const (
	explainPart   = 4               // it may take so small a part of the time and the memory …
	explainMax    = 2 * time.Second // … and no longer than this,
	explainEffort = 1 << 18         // and so many entries of porcupine's tables, to find it …
	confirmEffort = 1 << 17         // … and to confirm it
)

// explain begins the time for explaining what is proved already.
func (j *judge) explain() {
	j.deadline = time.Now().Add(min(j.timeout/explainPart, explainMax))
	j.memory /= explainPart
	j.effort, j.short = explainEffort, ""
}

// late reports whether time is up.
func (j *judge) late() bool { return time.Now().After(j.deadline) }

func (j *judge) note(checker, why string) { j.tried = append(j.tried, checker+": "+why) }

// noted returns a checker's ruling, and records why it is none.
func (j *judge) noted(checker string, r step.Ruling) step.Ruling {
	if r.Outcome == step.Undetermined {
		j.note(checker, r.Reason)
	}
	return r
}

// half is when half of the time that is left is over.
func (j *judge) half() time.Time { return time.Now().Add(time.Until(j.deadline) / 2) }

// ask returns porcupine's answer; Unknown if time or memory do not suffice.
func (j *judge) ask(steps []step.Step) porcupine.CheckResult {
	left := time.Until(j.deadline)
	entries := j.memory / entryBytes(len(steps))
	if entries < int64(len(steps)) {
		j.short = fmt.Sprintf("porcupine would need about %d MB for %d operations, and %d MB are allowed; allow "+
			"more, or record shorter histories",
			int64(len(steps))*entryBytes(len(steps))>>20, len(steps), j.memory>>20)
		return porcupine.Unknown
	}
	if left <= 0 || j.effort <= 0 {
		return porcupine.Unknown
	}
	entries = min(entries, j.effort)
	j.effort -= entries // until it is known how many it took
	result := porcupine.CheckOperationsTimeout(metered(j.spec, &entries), asked(steps), left)
	if result != porcupine.Unknown {
		j.effort += max(entries, 0)
	}
	if result == porcupine.Illegal && entries < 0 {
		j.short = fmt.Sprintf("porcupine found no order with the %d MB that are allowed; allow more, or record "+
			"shorter histories or fewer clients", j.memory>>20)
		return porcupine.Unknown
	}
	return result
}

// asked are steps as porcupine is asked about them. The client of each is the index of its operation.
func asked(steps []step.Step) []porcupine.Operation {
	operations := make([]porcupine.Operation, len(steps))
	for i := range steps {
		s := &steps[i]
		operations[i] = porcupine.Operation{ClientId: s.Source, Input: s, Call: s.Call, Return: s.End}
	}
	return operations
}

// Bounds of what porcupine is asked before the frontier is searched: steps, and entries of its tables.
const (
	soonSteps  = 64
	soonEffort = 1 << 17
)

// askSoon asks porcupine about a short history, with a bounded effort. Its depth-first search may find an order at
// once where the frontier, breadth first, has to look at all that is open. Of an illegal history the frontier says
// more: where it ends.
func (j *judge) askSoon(steps []step.Step) porcupine.CheckResult {
	if len(steps) > soonSteps {
		return porcupine.Unknown
	}
	effort := j.effort
	j.effort = soonEffort
	result := j.ask(steps)
	j.effort, j.short = effort, ""
	return result
}

// entryBytes is about what porcupine needs to remember one step of n: a bit for each, a state and its place in a map.
// It is doubled for garbage that is not collected yet.
func entryBytes(n int) int64 { return 2 * (int64(n)/8 + 200) }

// metered returns the model with a limit on the steps that succeed. Beyond it all fail, so that the search ends; then
// entries is negative, and an order that was not found may exist. Read entries only after porcupine has answered.
func metered(spec porcupine.Model, entries *int64) porcupine.Model {
	step := spec.Step
	spec.Step = func(state, input, output any) (bool, any) {
		legal, after := step(state, input, output)
		if legal {
			*entries--
		}
		return legal && *entries >= 0, after
	}
	return spec
}

// asksMax bounds how many parts of a history are tried to shrink it.
const asksMax = 2000

// shrink returns a part of an illegal history that is illegal too, and from which nothing can be left out.
func (j *judge) shrink(steps []step.Step) []step.Step {
	asks := 0
	more := func() bool { return asks < asksMax && !j.late() }
	illegal := func(fewer []step.Step) bool {
		asks++
		return j.ask(fewer) == porcupine.Illegal
	}
	steps = interval.Shrink(steps, len(steps)/2, step.ItemParts, more, illegal)
	return step.DropLate(interval.Shrink(steps, len(steps)/2, step.LooseParts, more, illegal))
}

// unexplained is what is said of an illegal history if time ran out before more was known.
func unexplained(steps []step.Step) step.Finding {
	return step.Finding{Property: "linearizability", Steps: steps}
}
