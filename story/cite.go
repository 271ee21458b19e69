package story

import (
	"cmp"
	"slices"
	"strings"
)

// cite marks what the verdict is about: the operations of its certificate, the sessions and znodes that it names, and
// the znodes of those operations.
func (b *storyBuilder) cite() {
	s := b.story
	for _, id := range b.violation.Sessions {
		if i := b.session(id); i >= 0 {
			s.Sessions[i].Cited = true
		}
	}
	b.citeOperations()
	b.addMissing()
	b.citeZnodes()
	for i, e := range s.Events {
		whole := e.Kind == kindCall || e.Kind == kindReturn
		s.Events[i].Cited = whole && e.Operation >= 0 && s.Operations[e.Operation].Cited
	}
}

// addMissing adds the znodes that the certificate's operations requested and that never existed.
func (b *storyBuilder) addMissing() {
	s := b.story
	for _, e := range b.missed {
		known := slices.ContainsFunc(s.Znodes, func(z Znode) bool { return z.Path == e.Path })
		if e.Operation >= 0 && s.Operations[e.Operation].Cited && !known {
			s.Znodes = append(s.Znodes, Znode{Path: e.Path, Lives: []Life{}})
		}
	}
	slices.SortFunc(s.Znodes, func(a, b Znode) int { return cmp.Compare(a.Path, b.Path) })
	nameZnodes(s.Znodes)
}

// citeZnodes prefers leaves: every client requests the parents.
func (b *storyBuilder) citeZnodes() {
	s := b.story
	for _, parents := range []bool{false, true} {
		some := false
		for i, z := range s.Znodes {
			s.Znodes[i].Named = b.names(z.Path)
			s.Znodes[i].Cited = s.Znodes[i].Named || parents == (i+1 < len(s.Znodes) && strings.HasPrefix(s.Znodes[i+1].Path, z.Path+"/")) && s.concerns(i)
			some = some || s.Znodes[i].Cited
		}
		if some {
			return
		}
	}
}

// concerns reports whether an operation of the certificate made a znode or requested it by name.
func (s *Story) concerns(znode int) bool {
	z := s.Znodes[znode]
	return slices.ContainsFunc(z.Lives, func(l Life) bool { return l.Maker >= 0 && s.Operations[l.Maker].Cited }) ||
		slices.ContainsFunc(s.Events,
			func(e Event) bool { return e.Path == z.Path && e.Operation >= 0 && s.Operations[e.Operation].Cited })
}

func (b *storyBuilder) citeOperations() {
	s := b.story
	for _, op := range b.violation.Ops {
		b.citeOperation(b.operation(op.Number))
	}
	for _, wait := range s.Waits {
		b.citeOperation(wait.Operation)
	}
	if slices.ContainsFunc(s.Operations, func(o Operation) bool { return o.Cited }) {
		return
	}
	for _, e := range s.Events { // a znode that was requested, perhaps one that never existed
		if b.names(e.Path) {
			b.citeOperation(e.Operation)
		}
	}
}

func (b *storyBuilder) citeOperation(i int) {
	if i >= 0 {
		b.story.Operations[i].Cited = true
	}
}

// names reports whether the verdict names a znode.
func (b *storyBuilder) names(path string) bool { return slices.Contains(b.violation.Paths, path) }
