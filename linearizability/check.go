package linearizability

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/zktorture/zktorture/linearizability/internal/interval"
	"github.com/zktorture/zktorture/linearizability/internal/step"
)

// Status is a verdict's value.
type Status uint8

const (
	// Ok: an order of the operations exists that explains what the clients saw.
	Ok Status = iota
	// Violation: no such order exists.
	Violation
	// Undetermined: it could not be decided, for the reason given. It is never a pass.
	Undetermined
)

var statusNames = [...]string{Ok: "ok", Violation: "violation", Undetermined: "unknown"}

// String returns ok, violation or unknown.
func (o Status) String() string { return statusNames[min(o, Undetermined)] }

// MarshalText implements [encoding.TextMarshaler], for JSON.
func (o Status) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler], for JSON.
func (o *Status) UnmarshalText(text []byte) error {
	i := slices.Index(statusNames[:], string(text))
	if i < 0 {
		return fmt.Errorf("verdict %.40q does not exist; write ok, violation or unknown", text)
	}
	*o = Status(i)
	return nil
}

// Verdict says whether the history of one object is linearizable.
type Verdict struct {
	Outcome Status
	// Property is the rule that is broken, see the package's documentation; empty unless Outcome is Violation.
	Property string
	// Rule is that rule in words, and how it is broken.
	Rule string
	// Message is one sentence that names the rule and the operations.
	Message string
	// Operations are those that break the rule, by call. They are not linearizable by themselves, even if nothing
	// else of the history had happened. They may be many, or none, if they are too many to name: it is known that the
	// rule is broken, and few operations that show it were not found in time.
	Operations []Operation
	Object     string
	// Checker is what decided: assumptions, monitor (the model's own), frontier (a search in the order of time) or
	// porcupine, which also confirms violations if it can in a part of the time; or disagreement, if two of them
	// contradict each other, which is a defect of this package.
	Checker string
	// Tried says what else ran, and why it did not decide.
	Tried []string
	// Reason says why the outcome is Undetermined.
	Reason string
}

// Disputed reports whether checkers contradict each other: Operations are what porcupine was given, and the others were
// given the whole history.
func (v Verdict) Disputed() bool { return v.Checker == checkerDispute }

// checkerDispute is the Checker of a verdict that there is none.
const checkerDispute = "disagreement"

// String returns the verdict in one line.
func (v Verdict) String() string {
	parts := []string{v.Outcome.String()}
	if v.Object != "" {
		parts = append([]string{v.Object}, parts...)
	}
	if v.Property != "" {
		parts = append(parts, v.Property)
	}
	if text := v.Message + v.Reason; text != "" {
		parts = append(parts, text)
	}
	return strings.Join(parts, ": ")
}

// Options say how much effort to spend.
type Options struct {
	// Timeout is the longest time to judge the history of one object, 0 for 10 seconds. After it the verdict is
	// Undetermined. A quarter of it, but at most 2 s, is added to explain and confirm a violation; if that is not
	// enough the explanation is longer, or poorer.
	Timeout time.Duration
	// MemoryLimit is the most memory, in bytes and roughly, that the search for an order of one object's operations may
	// take, 0 for 1 GiB. If it needs more it is not started, or ends, and the verdict is Undetermined. The
	// history itself does not count, nor do the model's own checker's tables, which are of its size.
	MemoryLimit int64
	// Unexplained leaves out how a violation is shown, which saves most of the time that it takes: of the verdict only
	// Outcome, Object and Checker, Property if the checker knows it, and why it is undetermined, are there.
	Unexplained bool
}

// timeoutDefault is the time that the history of one object may take if Options say nothing.
const timeoutDefault = 10 * time.Second

// memoryDefault is the memory in bytes that the search may take if Options say nothing.
const memoryDefault = 1 << 30

// Check judges a history against a model: one verdict for each object, by name. An empty history is one of one
// object, and ok. One that [Model.Validate] refuses is undetermined.
func Check(m Model, h History, o Options) []Verdict {
	if m.prepare == nil {
		return []Verdict{{Outcome: Undetermined, Checker: "assumptions", Reason: m.Validate(h).Error()}}
	}
	groups := byObject(h)
	verdicts := make([]Verdict, len(groups))
	for i := range groups {
		verdicts[i] = checkObject(&m, &groups[i], o)
		verdicts[i].Object = groups[i].object
	}
	return verdicts
}

// Worst returns the outcome of a set of verdicts: a violation if there is one, else unknown if there is one, else ok.
// The outcome of none at all is unknown.
func Worst(verdicts []Verdict) Status {
	outcomes := map[Status]bool{}
	for _, v := range verdicts {
		outcomes[v.Outcome] = true
	}
	switch {
	case outcomes[Violation]:
		return Violation
	case outcomes[Undetermined] || len(verdicts) == 0:
		return Undetermined
	}
	return Ok
}

// checkObject goes from the cheap to the dear: assumptions, the model's monitor, the frontier, porcupine.
func checkObject(m *Model, g *group, o Options) Verdict {
	items, err := m.validate(g.history)
	if err != nil {
		err.Index = g.at(err.Index)
		return Verdict{Outcome: Undetermined, Checker: "assumptions", Reason: err.Error()}
	}
	j := newJudge(m, o)
	v := j.judge(m.prepare(g.history, items), g.history)
	v.Tried = j.tried
	return v
}

func (j *judge) judge(steps []step.Step, h History) Verdict {
	r, checker := j.decide(steps)
	if r.Outcome != step.Violation || j.unexplained {
		return Verdict{Outcome: Status(r.Outcome), Property: r.Finding.Property, Checker: checker, Reason: r.Reason}
	}
	j.explain()
	if r.Finding.Property == "" {
		r.Finding = j.model.explain(j, r.Finding.Steps)
	}
	return j.confirm(checker, r, h)
}

// decide asks one checker after the other until one knows, and returns which. Unless that is the model's own, the
// finding of a violation has no name yet, and many steps.
func (j *judge) decide(steps []step.Step) (r step.Ruling, checker string) {
	if r = j.noted("monitor", j.model.monitor(steps)); r.Outcome != step.Undetermined {
		return r, "monitor"
	}
	soon := j.askSoon(steps)
	if soon == porcupine.Ok {
		return step.Legal(), "porcupine"
	}
	if r = j.noted("frontier", searchFrontier(&j.spec, steps, j.half(), j.memory)); r.Outcome != step.Undetermined {
		return r, "frontier"
	}
	if soon == porcupine.Unknown {
		soon = j.ask(steps)
	}
	switch soon {
	case porcupine.Ok:
		return step.Legal(), "porcupine"
	case porcupine.Illegal:
		return step.Illegal(step.Finding{Steps: steps}), "porcupine"
	}
	return step.Undecided(cmp.Or(j.short, fmt.Sprintf(
		"%d operations could not be ordered within %v; allow more time, or record shorter histories or fewer clients",
		len(steps), j.timeout))), "porcupine"
}

// confirm reports a violation. Unless porcupine has proved it, porcupine is asked about its few operations, beside
// those given. Without an answer in the time and memory for explanations it is a violation all the same. If porcupine
// finds an order one of the two is wrong, and nothing is known.
func (j *judge) confirm(checker string, r step.Ruling, h History) Verdict {
	v := j.model.violation(checker, r.Finding.Property, j.illegalAlone(named(&r.Finding, h), h))
	if checker == "porcupine" || len(r.Finding.Steps) == 0 {
		return v
	}
	j.effort = confirmEffort
	switch j.ask(slices.Concat(r.Given, r.Finding.Steps)) {
	case porcupine.Illegal:
		v.Checker = "porcupine"
	case porcupine.Ok:
		return Verdict{Outcome: Undetermined, Checker: checkerDispute, Operations: v.Operations,
			Reason: "the checkers disagree: one says " +
				v.Property + ", " + v.Message + "; porcupine finds these operations in order. This is a defect of " +
				"this program: please report it with the history"}
	default:
		why := cmp.Or(j.short, "there was no answer in time")
		j.note("porcupine", "it had no time to confirm what the "+checker+" has proved: "+why)
	}
	return v
}

// named returns the operations whose steps a finding has.
func named(f *step.Finding, h History) (operations History) {
	at := make(map[int]bool, len(f.Steps))
	for i := range f.Steps {
		at[f.Steps[i].Source] = true
	}
	for i := range h {
		if at[i] {
			operations = append(operations, h[i])
		}
	}
	return operations
}

// illegalAlone returns operations of an illegal history. If they are legal when nothing else has happened, as what a
// release is about follows from all that its process did, it returns all of their processes, or of the history.
func (j *judge) illegalAlone(operations, h History) History {
	legal := func(part History) bool {
		items, err := j.model.validate(part)
		if err != nil {
			return false // such as a release by a process that was granted nothing
		}
		r, _ := newJudge(j.model, Options{Timeout: time.Until(j.deadline), MemoryLimit: j.memory}).decide(
			j.model.prepare(part, items))
		return r.Outcome == step.Ok
	}
	if len(operations) == 0 || !legal(operations) {
		return operations
	}
	processes := make(map[Value]bool)
	for i := range operations {
		processes[operations[i].Owner()] = true
	}
	theirs := slices.DeleteFunc(slices.Clone(h), func(op Operation) bool { return !processes[op.Owner()] })
	if !legal(theirs) {
		return theirs
	}
	return h
}

// violation is the verdict on a history of which some operations break a property.
func (m *Model) violation(checker, property string, operations History) Verdict {
	operations = slices.Clone(operations)
	interval.SortBy(operations, func(a Operation) int64 { return a.Call })
	rule := m.rule(property)
	v := Verdict{Outcome: Violation, Checker: checker, Property: property, Rule: rule, Message: rule, Operations: operations}
	if len(operations) > 0 {
		v.Message += ": " + list(operations)
	}
	return v
}

const listMax = 8

func list(h History) string {
	var names []string
	for _, op := range h[:min(len(h), listMax)] {
		names = append(names, op.String())
	}
	if len(h) > listMax {
		names = append(names, fmt.Sprintf("and %d more", len(h)-listMax))
	}
	return strings.Join(names, ", ")
}
