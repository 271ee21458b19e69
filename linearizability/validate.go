package linearizability

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/zktorture/zktorture/linearizability/internal/parallel"
	"github.com/zktorture/zktorture/linearizability/internal/step"
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

// validate is [Model.Validate] for the operations of one object. It returns the numbers of their values.
func (m *Model) validate(h History) (items []int32, err *assumptionError) {
	return m.validateBy(parallel.Parts(len(h)), h)
}

// validateBy is validate by so many goroutines.
func (m *Model) validateBy(goroutines int, h History) (items []int32, err *assumptionError) {
	hashes := make([]uint32, len(h))
	looks := make([]look, goroutines)
	parallel.Do(len(h), goroutines, func(k, from, to int) { looks[k] = m.look(h, from, to, hashes) })
	for k := range looks {
		if i := looks[k].unsound; i != step.None {
			return nil, &assumptionError{Index: i, Operation: h[i], Problem: m.unsound(&h[i])}
		}
	}
	if !oneByOne(looks) {
		if err := overlapByCall(h); err != nil {
			return nil, err
		}
	}
	if m.item != nil {
		items = numberHashed(h, m.item, hashes, goroutines)
	}
	if m.conflict != nil {
		if i, problem := m.conflict(h, items); problem != "" {
			return nil, &assumptionError{Index: i, Operation: h[i], Problem: problem}
		}
	}
	return items, nil
}

// look is what is found in one pass over a part of a history.
type look struct {
	unsound   int // the first operation that is not sound by itself, where the pass ended; or none
	overlap   bool
	processes *numbering
	turns     []turn // by process
}

// turn is when a process first called in a part of a history, and last returned, if that was one by one.
type turn struct{ call, end int64 }

// look goes through operations and notes the hashes of their values.
func (m *Model) look(h History, from, to int, hashes []uint32) look {
	l := look{unsound: step.None, processes: newNumbering(0)}
	for i := from; i < to; i++ {
		op := &h[i]
		if m.unsound(op) != "" {
			l.unsound = i
			break
		}
		if m.item != nil {
			hashes[i] = hashOf(m.item(op))
		}
		if op.Outcome != Unknown {
			l.take(op.Owner(), turn{op.Call, op.Return})
		}
	}
	return l
}

// take adds what a process did next in the order of the history.
func (l *look) take(owner Value, t turn) {
	process := int(l.processes.number(owner))
	if process == len(l.turns) {
		l.turns = append(l.turns, t)
		return
	}
	last := &l.turns[process].end
	l.overlap = l.overlap || t.call < *last
	*last = t.end
}

// oneByOne reports whether no operation that returned was called before the last one of its process
// had returned, in the order of the history. Then none overlap, as each returned when it was
// called, or later. Histories are in order but for foreign files.
func oneByOne(looks []look) bool {
	all := look{processes: newNumbering(0)}
	for _, l := range looks {
		all.overlap = all.overlap || l.overlap
		for process, t := range l.turns {
			all.take(l.processes.values[process], t)
		}
	}
	return !all.overlap
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
	return m.problem(op)
}

// overlapByCall finds two operations of one process that both returned and overlap, in a history in any order.
func overlapByCall(h History) *assumptionError {
	for _, own := range byOwner(h) {
		slices.SortFunc(own, func(a, b int32) int { // they are in order already, but for foreign files
			return cmp.Or(cmp.Compare(h[a].Call, h[b].Call), cmp.Compare(h[a].Return, h[b].Return), cmp.Compare(a, b))
		})
		for k := 1; k < len(own); k++ {
			earlier, later := &h[own[k-1]], &h[own[k]]
			if later.Call < earlier.Return {
				return &assumptionError{Index: int(own[k]), Operation: *later, Problem: fmt.Sprintf(
					"it was called before %v had returned; give each concurrent caller its own client number",
					*earlier)}
			}
		}
	}
	return nil
}

// byOwner returns the operations that returned of each process.
func byOwner(h History) (operations [][]int32) {
	processes := newNumbering(0)
	for i := range h {
		process := int(processes.number(h[i].Owner()))
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
	if len(h) == 0 {
		return []group{{}}
	}
	if oneObject(h) {
		return []group{{object: h[0].Object, history: h}}
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

// oneObject reports whether all operations are of the same object.
func oneObject(h History) bool {
	var others atomic.Bool
	parallel.Do(len(h), parallel.Parts(len(h)), func(_, from, to int) {
		for i := from; i < to; i++ {
			if h[i].Object != h[0].Object {
				others.Store(true)
				return
			}
		}
	})
	return !others.Load()
}
