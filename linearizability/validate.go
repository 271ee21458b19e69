package linearizability

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// AssumptionError says that a history breaks an assumption of [Check]. The fault is in the recording; nothing is
// known about the object.
type AssumptionError struct {
	Index     int // of the operation in the history, from 0
	Operation Operation
	Problem   string // what is wrong and what to do
}

// Error names the operation, counted from 1 as the lines of a history file are.
func (e *AssumptionError) Error() string {
	return fmt.Sprintf("operation %d, %v: %s", e.Index+1, e.Operation, e.Problem)
}

// Validate returns an [*AssumptionError] unless, for every object,
//
//   - every operation is known to the model, and its argument and result are of the right kind;
//   - no operation returned before it was called, and every operation of outcome ok returned;
//   - of the operations of one process that returned (a client, or what [Operation] says is the process), no two
//     overlap; they may touch. Operations of unknown outcome may overlap others, as when a session dies while its
//     client is calling;
//   - queue: no value is offered twice, except after a failed offer. An offer that is tried again after an unknown
//     outcome needs a new value;
//   - lock: a release of outcome ok comes after an acquire or a try of the same process.
func Validate(m Model, h History) error {
	if m.prepare == nil {
		return errors.New("the model is empty; take one from Lock, Queue or ByName")
	}
	for _, g := range byObject(h) {
		if _, err := m.validate(g.history); err != nil {
			err.Index = g.at(err.Index)
			return err
		}
	}
	return nil
}

// validate is [Validate] for the operations of one object. It returns the numbers of their values.
func (m *Model) validate(h History) (items []int32, err *AssumptionError) {
	both(h, func() { items = numberItems(h, m.item) }, func() { err = m.validateEach(h) })
	if err != nil || m.conflict == nil {
		return items, err
	}
	if i, problem := m.conflict(h, items); problem != "" {
		return nil, &AssumptionError{Index: i, Operation: h[i], Problem: problem}
	}
	return items, nil
}

// validateEach is validate for the operations one by one, and for each process.
func (m *Model) validateEach(h History) *AssumptionError {
	for i := range h {
		if problem := m.unsound(&h[i]); problem != "" {
			return &AssumptionError{Index: i, Operation: h[i], Problem: problem}
		}
	}
	return overlap(h)
}

// both calls two functions that go through a history, at the same time if it is long.
func both(h History, one, other func()) {
	const long = 1 << 14
	if len(h) < long {
		one()
		other()
		return
	}
	var beside sync.WaitGroup
	beside.Go(one)
	other()
	beside.Wait()
}

// unsound says what is wrong with one operation by itself, or nothing.
func (m *Model) unsound(op *Operation) string {
	switch {
	case !slices.Contains(m.Operations, op.Op):
		return fmt.Sprintf("the model %s has no operation %q; it has %q", m.Name, op.Op, m.Operations)
	case op.Outcome > Unknown:
		return fmt.Sprintf("its outcome is %v; an outcome is ok, fail or unknown", op.Outcome)
	case op.Return < op.Call:
		return "it returned before it was called; take both stamps from one clock that never goes back"
	case op.Outcome == OK && op.Return == Forever:
		return "its outcome is ok but it never returned; if the outcome was not seen it is unknown"
	case op.Outcome == Fail:
		return ""
	}
	return m.problem(*op)
}

// overlap finds two operations of one process that both returned and overlap.
func overlap(h History) *AssumptionError {
	if oneByOne(h) {
		return nil
	}
	return overlapByCall(h)
}

// overlapByCall is overlap for histories in any order.
func overlapByCall(h History) *AssumptionError {
	for _, own := range byOwner(h) {
		slices.SortFunc(own, func(a, b int32) int { // they are in order already, but for foreign files
			return cmp.Or(cmp.Compare(h[a].Call, h[b].Call), cmp.Compare(h[a].Return, h[b].Return), cmp.Compare(a, b))
		})
		for k := 1; k < len(own); k++ {
			earlier, later := &h[own[k-1]], &h[own[k]]
			if later.Call < earlier.Return {
				return &AssumptionError{Index: int(own[k]), Operation: *later, Problem: fmt.Sprintf(
					"it was called before %v had returned; give each concurrent caller a client number of its own",
					*earlier)}
			}
		}
	}
	return nil
}

// oneByOne tells whether no operation that returned was called before the last one of its process had returned, in the
// order of the history. Then none overlap, as each returned when it was called, or later. Histories are in order but for
// foreign files.
func oneByOne(h History) bool {
	processes := newNumbering(min(len(h), processesMax))
	var until []int64 // by process: the last return
	for i := range h {
		op := &h[i]
		if op.Outcome == Unknown {
			continue
		}
		process := int(processes.number(op.owner()))
		if process == len(until) {
			until = append(until, op.Call)
		}
		if op.Call < until[process] {
			return false
		}
		until[process] = op.Return
	}
	return true
}

// processesMax is about how many processes there are at most.
const processesMax = 1 << 10

// byOwner returns the operations that returned of each process.
func byOwner(h History) (operations [][]int32) {
	processes := newNumbering(0)
	for i := range h {
		process := int(processes.number(h[i].owner()))
		if process == len(operations) {
			operations = append(operations, nil)
		}
		if h[i].Outcome != Unknown {
			operations[process] = append(operations[process], int32(i))
		}
	}
	return operations
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

// byObject splits a history by object, in order of the objects' names.
func byObject(h History) []group {
	if len(h) == 0 || !slices.ContainsFunc(h, func(o Operation) bool { return o.Object != h[0].Object }) {
		object := ""
		if len(h) > 0 {
			object = h[0].Object
		}
		return []group{{object: object, history: h}}
	}
	position := make(map[string]int)
	var groups []group
	for i, op := range h {
		g, found := position[op.Object]
		if !found {
			g = len(groups)
			position[op.Object] = g
			groups = append(groups, group{object: op.Object})
		}
		groups[g].history = append(groups[g].history, op)
		groups[g].indices = append(groups[g].indices, i)
	}
	slices.SortFunc(groups, func(a, b group) int { return cmp.Compare(a.object, b.object) })
	return groups
}
