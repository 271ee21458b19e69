package story

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// ask marks what the verdict is about: the operations of its certificate, the sessions and znodes that
// it names, and the znodes that those operations dealt with.
func (t *teller) ask() {
	s := t.story
	for _, id := range t.replayed.Violation.Sessions {
		if i := t.session(id); i >= 0 {
			s.Sessions[i].Asked = true
		}
	}
	t.askOperations()
	t.addMissing()
	t.askZnodes()
	for i, e := range s.Events {
		whole := e.Kind == KindCall || e.Kind == KindReturn
		s.Events[i].Asked = whole && e.Operation >= 0 && s.Operations[e.Operation].Asked
	}
}

// addMissing adds the znodes that the operations of the certificate asked for and that never existed.
func (t *teller) addMissing() {
	s := t.story
	for _, e := range t.missed {
		known := slices.ContainsFunc(s.Znodes, func(z Znode) bool { return z.Path == e.Path })
		if e.Operation >= 0 && s.Operations[e.Operation].Asked && !known {
			s.Znodes = append(s.Znodes, Znode{Path: e.Path, Lives: []Life{}})
		}
	}
	slices.SortFunc(s.Znodes, func(a, b Znode) int { return cmp.Compare(a.Path, b.Path) })
	nameZnodes(s.Znodes)
}

// askZnodes prefers those that are no parents of others: for parents everybody asks.
func (t *teller) askZnodes() {
	s := t.story
	for _, parents := range []bool{false, true} {
		some := false
		for i, z := range s.Znodes {
			s.Znodes[i].Asked = t.names(z.Path) || parents == s.isParent(i) && s.concerns(i)
			some = some || s.Znodes[i].Asked
		}
		if some {
			return
		}
	}
}

func (s *Story) isParent(znode int) bool {
	return znode+1 < len(s.Znodes) && strings.HasPrefix(s.Znodes[znode+1].Path, s.Znodes[znode].Path+"/")
}

// concerns tells whether an operation of the certificate has made a znode, or has asked for it by name.
func (s *Story) concerns(znode int) bool {
	z := s.Znodes[znode]
	return slices.ContainsFunc(z.Lives, func(l Life) bool { return l.Maker >= 0 && s.Operations[l.Maker].Asked }) ||
		slices.ContainsFunc(s.Events, func(e Event) bool { return e.Path == z.Path && e.Operation >= 0 && s.Operations[e.Operation].Asked })
}

func (t *teller) askOperations() {
	s := t.story
	for _, op := range t.replayed.Violation.Ops {
		t.askOperation(t.operation(op.Number))
	}
	for _, wait := range s.Waits {
		t.askOperation(wait.Operation)
	}
	if slices.ContainsFunc(s.Operations, func(o Operation) bool { return o.Asked }) {
		return
	}
	for _, e := range s.Events { // it is about a znode that somebody asked for, such as one that never was
		if t.names(e.Path) {
			t.askOperation(e.Operation)
		}
	}
}

func (t *teller) askOperation(i int) {
	if i >= 0 {
		t.story.Operations[i].Asked = true
	}
}

// user names a user as messages do.
func (s *Story) user(client, user int) string {
	name := s.Clients[client].Name
	if user > 0 {
		name += fmt.Sprintf(" (user %d)", user+1)
	}
	return name
}

// names tells whether the verdict names a znode.
func (t *teller) names(path string) bool { return slices.Contains(t.replayed.Violation.Paths, path) }
