package linearizability

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// assumptionError says that a history breaks an assumption of [Check]. The fault is in the recording; nothing is
// known about the object.
type assumptionError struct {
	Index     int // of the operation in the history, from 0
	Operation Operation
	Problem   string // what is wrong and what to do
}

// Error names the operation, counted from 1 as the lines of a history file are.
func (e *assumptionError) Error() string {
	return fmt.Sprintf("operation %d, %v: %s", e.Index+1, e.Operation, e.Problem)
}

// Validate returns an error that says what to do unless, for every object,
//
//   - every operation is known to the model, and its argument and result are of the right kind;
//   - no operation returned before it was called, and every operation of outcome ok returned;
//   - of the operations of one process that returned (a client, or what [Operation] says is the process), no two
//     overlap; they may touch. Operations of unknown outcome may overlap others, as when a session dies while its
//     client is calling;
//   - queue: no value is offered twice, except after a failed offer. An offer that is tried again after an unknown
//     outcome needs a new value;
//   - lock: a release of outcome ok comes after an acquire or a try of the same process.
func (m Model) Validate(h History) error {
	if m.steps == nil {
		return errors.New("the model is empty; take one from Lock, Queue or ByName")
	}
	for _, g := range byObject(h) {
		if err := m.validate(g.history); err != nil {
			err.Index = g.at(err.Index)
			return err
		}
	}
	return nil
}

// validate is [Model.Validate] for the operations of one object.
func (m *Model) validate(h History) *assumptionError {
	for i := range h {
		if problem := m.unsound(&h[i]); problem != "" {
			return &assumptionError{i, h[i], problem}
		}
	}
	last := map[Value]*Operation{} // by process: what it called last of what returned
	for _, i := range byCallAndReturn(h) {
		o := &h[i]
		if o.Outcome == Unknown {
			continue
		}
		if earlier := last[o.Owner()]; earlier != nil && o.Call < earlier.Return {
			return &assumptionError{i, *o, fmt.Sprintf(
				"it was called before %v had returned; give each concurrent caller its own client number", *earlier)}
		}
		last[o.Owner()] = o
	}
	if m.conflict != nil {
		if i, problem := m.conflict(h); problem != "" {
			return &assumptionError{i, h[i], problem}
		}
	}
	return nil
}

// unsound says what is wrong with one operation by itself, or nothing.
func (m *Model) unsound(o *Operation) string {
	switch {
	case !slices.Contains(m.Operations, o.Op):
		return fmt.Sprintf("the model %s has no operation %q; it has %q", m.Name, o.Op, m.Operations)
	case o.Outcome > Unknown:
		return fmt.Sprintf("its outcome is %v; an outcome is ok, fail or unknown", o.Outcome)
	case o.Return < o.Call:
		return "it returned before it was called; take both stamps from one clock that never goes back"
	case o.Outcome == OK && o.Return == Forever:
		return "its outcome is ok but it never returned; if the outcome was not seen it is unknown"
	case o.Outcome == Fail:
		return ""
	}
	return m.problem(o)
}

// byCall returns the indices of h in order of call, then of place.
func byCall(h History) []int {
	return inOrder(h, func(a, b *Operation) int { return cmp.Compare(a.Call, b.Call) })
}

// byCallAndReturn returns the indices of h in order of call, then of the last instant at which they can have taken
// effect, then of place.
func byCallAndReturn(h History) []int {
	return inOrder(h, func(a, b *Operation) int {
		return cmp.Or(cmp.Compare(a.Call, b.Call), cmp.Compare(a.end(), b.end()))
	})
}

func inOrder(h History, compare func(a, b *Operation) int) []int {
	order := make([]int, len(h))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return compare(&h[a], &h[b]) })
	return order
}

// group is the operations of one object.
type group struct {
	object  string
	history History
	indices []int // where they are in the whole history; nil if they are all of it
}

// at returns the index in the whole history of the group's operation i.
func (g *group) at(i int) int {
	if g.indices == nil {
		return i
	}
	return g.indices[i]
}

// byObject splits a history by object, in order of the objects' names. An empty one is of one object.
func byObject(h History) []group {
	if len(h) == 0 {
		return []group{{}}
	}
	if !slices.ContainsFunc(h, func(o Operation) bool { return o.Object != h[0].Object }) {
		return []group{{object: h[0].Object, history: h}}
	}
	place := map[string]int{}
	var groups []group
	for i, o := range h {
		k, found := place[o.Object]
		if !found {
			k = len(groups)
			place[o.Object] = k
			groups = append(groups, group{object: o.Object})
		}
		groups[k].history, groups[k].indices = append(groups[k].history, o), append(groups[k].indices, i)
	}
	slices.SortFunc(groups, func(a, b group) int { return cmp.Compare(a.object, b.object) })
	return groups
}
