package fakezk

import (
	"cmp"
	"iter"
	"slices"
)

// siblings are the children of a node in their order. They are in blocks, so that a change among very many moves but a
// few of them.
//
// Invariants: blocks follow each other in order, none is longer than blockMax, and only a single one may be empty.
type siblings struct {
	blocks [][]*node
	count  int
}

// blockMax bounds the length of a block.
const blockMax = 512

func compareOrder(a, b *node) int {
	if c := cmp.Compare(a.order, b.order); c != 0 {
		return c
	}
	return cmp.Compare(a.name, b.name)
}

// emptied returns no siblings, with the memory of some that there were.
func (s siblings) emptied() siblings {
	if len(s.blocks) == 0 {
		return siblings{}
	}
	return siblings{blocks: append(s.blocks[:0], s.blocks[0][:0])}
}

// all yields the siblings in order. They must not change meanwhile.
func (s *siblings) all() iter.Seq[*node] {
	return func(yield func(*node) bool) {
		for _, block := range s.blocks {
			for _, n := range block {
				if !yield(n) {
					return
				}
			}
		}
	}
}

// find returns where a node is, or belongs: its block, and its place there.
func (s *siblings) find(n *node) (block, place int) {
	if len(s.blocks) > 1 {
		block, _ = slices.BinarySearchFunc(s.blocks, n, func(b []*node, n *node) int { return compareOrder(b[len(b)-1], n) })
		block = min(block, len(s.blocks)-1)
	}
	place, _ = slices.BinarySearchFunc(s.blocks[block], n, compareOrder)
	return block, place
}

func (s *siblings) add(n *node) {
	s.count++
	if len(s.blocks) == 0 {
		s.blocks = append(s.blocks, nil)
	}
	b, place := s.find(n)
	if len(s.blocks[b]) == blockMax {
		s.split(b)
		b, place = s.find(n)
	}
	s.blocks[b] = slices.Insert(s.blocks[b], place, n)
}

// split makes two blocks of a full one.
func (s *siblings) split(b int) {
	full := s.blocks[b]
	s.blocks = slices.Insert(s.blocks, b+1, append(make([]*node, 0, blockMax), full[blockMax/2:]...))
	s.blocks[b] = slices.Delete(full, blockMax/2, blockMax)
}

// remove removes a node, which is there.
func (s *siblings) remove(n *node) {
	s.count--
	b, place := s.find(n)
	s.blocks[b] = slices.Delete(s.blocks[b], place, place+1)
	if len(s.blocks[b]) == 0 && len(s.blocks) > 1 {
		s.blocks = slices.Delete(s.blocks, b, b+1)
	}
}
