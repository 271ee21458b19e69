package fakezk

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/zktorture/zktorture/internal/digest"
)

// Shape is a hash of what is below a znode on the leader, and of who waits there. It is the same where only names, data
// and sessions differ: siblings count by their rank (by sequence number, by what their names say but for numbers and
// identities, and by age), owners and watchers by the order in which they appear. lives reports whether a session is
// one that its client still believes to have.
func (e *Ensemble) Shape(root string, lives func(session int64) bool) uint64 {
	n := e.cluster.leader().nodes[root]
	if n == nil {
		return 0
	}
	s := &e.shaper
	s.e, s.lives, s.sessions, s.hash = e, lives, s.sessions[:0], 0
	s.node(n)
	watched := 0
	for _, r := range e.cluster.replicas {
		watched += len(r.data.lists) + len(r.child.lists)
	}
	s.fold(uint64(watched)) // some are on znodes that do not exist
	return digest.Mix(s.hash)
}

// shaper is a Shape under way, with memory that is used again.
type shaper struct {
	e        *Ensemble
	lives    func(session int64) bool
	sessions []int64  // in the order in which they appear
	hashes   []uint64 // of these
	stack    []*node
	hash     uint64
}

// fold is cheaper than mix, which finishes the hash.
func (s *shaper) fold(x uint64) { s.hash = (bits.RotateLeft64(s.hash, 5) ^ x) * 0x9e3779b97f4a7c15 }

func (s *shaper) node(n *node) {
	s.fold(n.called().word)
	switch {
	case isEphemeral(n.owner):
		s.session(n.owner)
	case n.owner != 0:
		s.fold(1)
	}
	for _, r := range s.e.cluster.replicas {
		s.watchers(&r.data, n.path, 2)
		s.watchers(&r.child, n.path, 3)
	}
	first := len(s.stack)
	for _, block := range n.children.blocks {
		s.stack = append(s.stack, block...)
	}
	last := len(s.stack)
	slices.SortFunc(s.stack[first:], compareRank)
	s.fold(uint64(last - first))
	for i := first; i < last; i++ {
		s.node(s.stack[i])
	}
	s.stack = s.stack[:first]
}

// watchers folds who waits at a znode, at whichever server.
func (s *shaper) watchers(t *watchTable, path string, kind uint64) {
	if len(t.lists) == 0 {
		return
	}
	for _, w := range t.lists[path] {
		s.fold(kind)
		s.session(w.c.session.id)
	}
}

// session folds a session's place in the order of appearance, and whether it lives.
func (s *shaper) session(id int64) {
	i := slices.Index(s.sessions, id)
	if i < 0 {
		i = len(s.sessions)
		s.sessions, s.hashes = append(s.sessions, id), append(s.hashes[:i], uint64(i)<<2)
		if s.lives(id) {
			s.hashes[i] |= 2
		}
	}
	s.fold(s.hashes[i])
}

// calling is what a node's name says: the number at its end, -1 if there is none, and a hash of the rest but for digits
// and identities, which are long in hexadecimal digits.
type calling struct {
	number int64
	word   uint64 // not 0 once it is known
}

const (
	sequenceDigits = 10
	identityDigits = 16
)

func (n *node) called() *calling {
	if n.calling.word == 0 {
		n.calling = callingOf(n.name)
	}
	return &n.calling
}

func callingOf(name string) calling {
	c := calling{-1, 14695981039346656037}
	for i := 0; i < len(name); {
		n := hexDigits(name[i:])
		switch end := i + max(n, 1); {
		case n >= identityDigits:
			i = end
		case n >= sequenceDigits && end == len(name):
			c.number = digits(name[end-sequenceDigits:])
			fallthrough
		default:
			c.word, i = foldWord(c.word, name[i:end]), end
		}
	}
	c.word |= 1
	return c
}

// foldWord folds all but the decimal digits of a text.
func foldWord(h uint64, text string) uint64 {
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			h = (h ^ uint64(text[i])) * 1099511628211
		}
	}
	return h
}

// hexDigits counts the hexadecimal digits at the begin of a text.
func hexDigits(text string) (n int) {
	for n < len(text) && (text[n] >= '0' && text[n] <= '9' || text[n] >= 'a' && text[n] <= 'f') {
		n++
	}
	return n
}

// digits is the number that a text is, -1 if it is none.
func digits(text string) (n int64) {
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return -1
		}
		n = 10*n + int64(text[i]-'0')
	}
	return n
}

func compareRank(a, b *node) int {
	x, y := a.called(), b.called()
	switch {
	case x.number != y.number:
		return cmp.Compare(x.number, y.number)
	case x.word != y.word:
		return cmp.Compare(x.word, y.word)
	}
	return cmp.Compare(a.czxid, b.czxid)
}
