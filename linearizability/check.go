package linearizability

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
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
	// Operations are those that break the rule, by call: few, or all that were judged if it took too long to find few.
	Operations []Operation
	Object     string
	// Reason says why the outcome is Undetermined.
	Reason string
}

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

// timeoutDefault is the time that the history of one object may take if none is given.
const timeoutDefault = 10 * time.Second

// Check judges a history against a model: one verdict for each object, by name. An empty history is one of one
// object, and ok. One that [Model.Validate] refuses is undetermined; so is one that porcupine does not decide within the
// timeout, 0 for 10 seconds, or with about a gigabyte. A violation takes up to 2 s more to explain.
func Check(m Model, h History, timeout time.Duration) []Verdict {
	if m.steps == nil {
		return []Verdict{{Outcome: Undetermined, Reason: m.Validate(h).Error()}}
	}
	groups := byObject(h)
	verdicts := make([]Verdict, len(groups))
	for i := range groups {
		verdicts[i] = m.judge(&groups[i], cmp.Or(timeout, timeoutDefault))
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

func (m *Model) judge(g *group, timeout time.Duration) Verdict {
	if err := m.validate(g.history); err != nil {
		err.Index = g.at(err.Index)
		return Verdict{Outcome: Undetermined, Reason: err.Error()}
	}
	steps, s := m.steps(g.history), newSearch(m, timeout)
	if m.fast != nil {
		switch f, outcome := m.fast(steps); outcome {
		case Ok:
			return Verdict{}
		case Violation:
			return m.violation(&f, g.history)
		}
	}
	switch s.ask(steps) {
	case porcupine.Ok:
		return Verdict{}
	case porcupine.Illegal:
		s.explain()
		f := m.explain(s, steps)
		return m.violation(&f, g.history)
	}
	return Verdict{Outcome: Undetermined, Reason: fmt.Sprintf("%d operations could not be ordered within %v and %d million "+
		"steps; allow more time, or record shorter histories or fewer clients", len(steps), timeout, stepsMax/1_000_000)}
}

// violation is the verdict on a history of which some operations break a property.
func (m *Model) violation(f *finding, h History) Verdict {
	operations, rule := f.operations(h), m.rule(f.property)
	return Verdict{Outcome: Violation, Property: f.property, Rule: rule, Message: rule + ": " + list(operations), Operations: operations}
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
