package persistent

// Ranking is the items of a priority queue, nil if there are none. Like [Queue] it is never changed: With
// and Pop return a new one.
//
// It is a treap (Seidel and Aragon, "Randomized Search Trees", 1996): a tree ordered by priority from left to right
// and by a hash of the priority from the top down. So its depth is logarithmic, and its shape depends on nothing but
// which priorities there are: equal rankings are equal trees.
//
// Invariant: no queue in it is empty; hash is that of the tree below.
type Ranking struct {
	priority    int64
	items       *Queue // of this priority, the oldest first
	left, right *Ranking
	hash        uint64
}

func rank(priority int64, items *Queue, left, right *Ranking) *Ranking {
	hash := Mix(Mix(uint64(priority)) + items.Hash + uint64(items.Size))
	return &Ranking{priority, items, left, right, Mix(Mix(left.Sum()+hash) ^ right.Sum())}
}

// Sum is the hash, 0 of nothing.
func (r *Ranking) Sum() uint64 {
	if r == nil {
		return 0
	}
	return r.hash
}

// over reports whether r has to be above a neighbour that is not nil.
func (r *Ranking) over(s *Ranking) bool { return Mix(uint64(r.priority)) > Mix(uint64(s.priority)) }

// With returns the ranking with an item more, behind all that are as good.
func (r *Ranking) With(priority int64, item int32) *Ranking {
	switch {
	case r == nil:
		return rank(priority, NewQueue().Push(item), nil, nil)
	case priority == r.priority:
		return rank(priority, r.items.Push(item), r.left, r.right)
	case priority < r.priority:
		if l := r.left.With(priority, item); l.over(r) {
			return rank(l.priority, l.items, l.left, rank(r.priority, r.items, l.right, r.right))
		} else {
			return rank(r.priority, r.items, l, r.right)
		}
	}
	g := r.right.With(priority, item)
	if g.over(r) {
		return rank(g.priority, g.items, rank(r.priority, r.items, r.left, g.left), g.right)
	}
	return rank(r.priority, r.items, r.left, g)
}

// Head returns the item that comes out next; there must be one.
func (r *Ranking) Head() int32 {
	for r.left != nil {
		r = r.left
	}
	return r.items.front.item
}

// Pop returns the ranking without its head; there must be one.
func (r *Ranking) Pop() *Ranking {
	if r.left != nil {
		return rank(r.priority, r.items, r.left.Pop(), r.right)
	}
	if _, rest := r.items.Pop(); rest.Size > 0 {
		return rank(r.priority, rest, nil, r.right)
	}
	return r.right
}

// Equal reports whether two rankings have the same items in the same order.
func (r *Ranking) Equal(s *Ranking) bool {
	if r == s || r == nil || s == nil || r.hash != s.hash {
		return r == s
	}
	return r.priority == s.priority && r.items.Equal(s.items) && r.left.Equal(s.left) && r.right.Equal(s.right)
}
