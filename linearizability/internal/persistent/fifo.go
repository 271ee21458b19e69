// Package persistent has the states of queues that searches go back to: they are never changed, and a new one shares what
// it can with the old one.
package persistent

import "slices"

// Queue is a queue of items that is never changed: Push and Pop return a new one that shares what it can with the old
// one (Hood and Melville's two lists). A search goes back to old states all the time.
//
// Invariant: front is nil only if the queue is empty. Invariant: hash is the sum of mix(item)·base^k over the items,
// k being how many come after it, and power is base^size, all modulo 2^64.
type Queue struct {
	front       *cell // the oldest items, oldest first
	back        *cell // the newest items, newest first
	Size        int
	Hash, power uint64
}

type cell struct {
	item int32
	next *cell
}

// base is odd, so that it has an inverse modulo 2^64.
const base uint64 = 0x9e3779b97f4a7c15

var baseInverse = inverse(base)

// inverse returns the inverse of an odd number modulo 2^64 by Newton's iteration, which doubles the number of right
// bits each time: 3, 6, 12, 24, 48, 96.
func inverse(odd uint64) uint64 {
	x := odd
	for range 5 {
		x *= 2 - odd*x
	}
	return x
}

// Mix is the finalizer of SplitMix64 (Steele, Lea and Flood, 2014): every bit of x moves every bit.
func Mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// NewQueue returns an empty queue.
func NewQueue() *Queue { return &Queue{power: 1} }

// Push returns the queue with an item more.
func (q *Queue) Push(item int32) *Queue {
	next := &Queue{front: q.front, back: q.back, Size: q.Size + 1, Hash: q.Hash*base + Mix(uint64(item)), power: q.power * base}
	if next.front == nil {
		next.front = &cell{item: item}
	} else {
		next.back = &cell{item: item, next: q.back}
	}
	return next
}

// Pop returns the head and the queue without it. The queue must not be empty.
func (q *Queue) Pop() (int32, *Queue) {
	head := q.front.item
	power := q.power * baseInverse
	next := &Queue{front: q.front.next, back: q.back, Size: q.Size - 1, Hash: q.Hash - Mix(uint64(head))*power, power: power}
	if next.front == nil {
		next.front, next.back = reversed(next.back), nil
	}
	return head, next
}

func reversed(list *cell) *cell {
	var r *cell
	for ; list != nil; list = list.next {
		r = &cell{item: list.item, next: r}
	}
	return r
}

// Equal compares the items; what two lists they are in does not matter.
func (q *Queue) Equal(p *Queue) bool {
	return q.Size == p.Size && q.Hash == p.Hash && slices.Equal(q.items(), p.items())
}

func (q *Queue) items() (items []int32) {
	for _, list := range []*cell{q.front, reversed(q.back)} {
		for ; list != nil; list = list.next {
			items = append(items, list.item)
		}
	}
	return items
}
