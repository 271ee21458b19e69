package shrink

import (
	"github.com/zktorture/zktorture/sim/world"
)

// tree has the runs that are known, by the choices that they made: a run is a function of them. A node is a
// question, below each answer is the next one.
type tree struct {
	label string
	n     int   // how many answers there are; 0: the question is not known
	kids  []kid // the answers that have been given
	full  int   // how many of them lead to known runs only
	done  bool  // this does
}

type kid struct {
	answer int
	to     *tree
}

// after returns what follows an answer, nil if it has not been given.
func (t *tree) after(answer int) *tree {
	for _, k := range t.kids {
		if k.answer == answer {
			return k.to
		}
	}
	return nil
}

// add adds a run that has ended, or was given up: then all that begin like it would be.
func (t *tree) add(run []world.Made) {
	path := make([]*tree, 0, len(run))
	for _, m := range run {
		if t.n == 0 {
			t.label, t.n = m.Label, m.N
		}
		if t.done || t.label != m.Label || t.n != m.N {
			return // known, or equal choices gave another run: see Divergence
		}
		path = append(path, t)
		next := t.after(m.Value)
		if next == nil {
			next = &tree{}
			t.kids = append(t.kids, kid{m.Value, next})
		}
		t = next
	}
	t.end(path)
}

// end notes that a run ends here, which has come by that path.
func (t *tree) end(path []*tree) {
	if t.done {
		return
	}
	t.done = true
	for i := len(path) - 1; i >= 0; i-- {
		if path[i].full++; path[i].full < path[i].n {
			return
		}
		path[i].done = true
	}
}

// knows reports whether a source leads to a run that is known.
func (t *tree) knows(source world.Source) bool {
	for t != nil && !t.done && t.n > 0 {
		t = t.after(source.Choose(t.n, t.label))
	}
	return t != nil && t.done
}

// pass passes an answer; if all that follows it is known, another one after which something is not. It returns what
// follows.
func (t *tree) pass(answer int) (int, *tree) {
	if t == nil {
		return answer, nil
	}
	for range t.n {
		if next := t.after(answer); next == nil || !next.done {
			return answer, next
		}
		answer = (answer + 1) % t.n
	}
	return answer, nil
}
