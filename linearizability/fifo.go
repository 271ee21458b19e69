package linearizability

import "slices"

// fifo is a queue of items that is never changed: push and pop return a new one that shares what it can with the old
// one (Hood and Melville's two lists). A search goes back to old states all the time.
//
// Invariant: front is nil only if the queue is empty. Invariant: hash is the sum of mix(item)·base^k over the items,
// k being how many come after it, and power is base^size, all modulo 2^64.
type fifo struct {
	front       *cell // the oldest items, oldest first
	back        *cell // the newest items, newest first
	size        int
	hash, power uint64
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

// mix is the finalizer of SplitMix64 (Steele, Lea and Flood, 2014): every bit of x moves every bit.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func (q *fifo) push(item int32) *fifo {
	next := &fifo{
		front: q.front, back: q.back, size: q.size + 1,
		hash: q.hash*base + mix(uint64(item)), power: q.power * base,
	}
	if next.front == nil {
		next.front = &cell{item: item}
	} else {
		next.back = &cell{item: item, next: q.back}
	}
	return next
}

// pop returns the head and the queue without it. The queue must not be empty.
func (q *fifo) pop() (int32, *fifo) {
	head := q.front.item
	power := q.power * baseInverse
	next := &fifo{
		front: q.front.next, back: q.back, size: q.size - 1,
		hash: q.hash - mix(uint64(head))*power, power: power,
	}
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

// equal compares the items; what two lists they are in does not matter.
func (q *fifo) equal(p *fifo) bool {
	return q.size == p.size && q.hash == p.hash && slices.Equal(q.items(), p.items())
}

func (q *fifo) items() (items []int32) {
	for _, list := range []*cell{q.front, reversed(q.back)} {
		for ; list != nil; list = list.next {
			items = append(items, list.item)
		}
	}
	return items
}
