package linearizability

// ranking is the items of a priority queue, nil if there are none. Like [fifo] it is never changed: a search goes
// back to old states all the time, so with and pop return a new one that shares what it can.
//
// It is a treap (Seidel and Aragon, "Randomized Search Trees", 1996): a tree ordered by priority from left to right
// and by a hash of the priority from the top down. So its depth is logarithmic, and its shape depends on nothing but
// which priorities there are: equal rankings are equal trees.
//
// Invariant: no fifo in it is empty; hash is that of the tree below.
type ranking struct {
	priority    int64
	items       *fifo // of this priority, the oldest first
	left, right *ranking
	hash        uint64
}

func rank(priority int64, items *fifo, left, right *ranking) *ranking {
	hash := mix(mix(uint64(priority)) + items.hash + uint64(items.size))
	return &ranking{priority, items, left, right, mix(mix(left.sum()+hash) ^ right.sum())}
}

// sum is the hash, 0 of nothing.
func (r *ranking) sum() uint64 {
	if r == nil {
		return 0
	}
	return r.hash
}

// over tells whether r has to be above a neighbour that is not nil.
func (r *ranking) over(s *ranking) bool { return mix(uint64(r.priority)) > mix(uint64(s.priority)) }

// with returns the ranking with an item more, behind all that are as good.
func (r *ranking) with(priority int64, item int32) *ranking {
	switch {
	case r == nil:
		return rank(priority, (&fifo{power: 1}).push(item), nil, nil)
	case priority == r.priority:
		return rank(priority, r.items.push(item), r.left, r.right)
	case priority < r.priority:
		if l := r.left.with(priority, item); l.over(r) {
			return rank(l.priority, l.items, l.left, rank(r.priority, r.items, l.right, r.right))
		} else {
			return rank(r.priority, r.items, l, r.right)
		}
	}
	g := r.right.with(priority, item)
	if g.over(r) {
		return rank(g.priority, g.items, rank(r.priority, r.items, r.left, g.left), g.right)
	}
	return rank(r.priority, r.items, r.left, g)
}

// head returns the item that comes out next; there must be one.
func (r *ranking) head() int32 {
	for r.left != nil {
		r = r.left
	}
	return r.items.front.item
}

// pop returns the ranking without its head; there must be one.
func (r *ranking) pop() *ranking {
	if r.left != nil {
		return rank(r.priority, r.items, r.left.pop(), r.right)
	}
	if _, rest := r.items.pop(); rest.size > 0 {
		return rank(r.priority, rest, nil, r.right)
	}
	return r.right
}

func (r *ranking) equal(s *ranking) bool {
	if r == s || r == nil || s == nil || r.hash != s.hash {
		return r == s
	}
	return r.priority == s.priority && r.items.equal(s.items) && r.left.equal(s.left) && r.right.equal(s.right)
}
