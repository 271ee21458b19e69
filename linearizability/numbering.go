package linearizability

import (
	"hash/maphash"

	"github.com/zktorture/zktorture/linearizability/internal/parallel"
	"github.com/zktorture/zktorture/linearizability/internal/persistent"
	"github.com/zktorture/zktorture/linearizability/internal/step"
)

// numbering numbers values from 0 as it meets them. It is a hash table with open addressing.
type numbering struct {
	slots  []slot  // a power of two, at most half of them taken
	values []Value // by number
}

type slot struct {
	hash  uint32
	taken int32 // the number plus 1; 0 for free
}

// slotsMin is the size of the smallest table.
const slotsMin = 16

// newNumbering expects so many values; there may be more.
func newNumbering(size int) *numbering {
	slots := slotsMin
	for slots < 2*size {
		slots *= 2
	}
	return &numbering{slots: make([]slot, slots), values: make([]Value, 0, size)}
}

// number returns the number that stands for v, a new one if v has none.
func (n *numbering) number(v Value) int32 { return n.numberHashed(v, hashOf(v)) }

// numberHashed is number of a value of which the hash is known.
func (n *numbering) numberHashed(v Value, hash uint32) int32 {
	mask := uint32(len(n.slots) - 1)
	i := hash & mask
	for ; n.slots[i].taken > 0; i = (i + 1) & mask {
		if s := n.slots[i]; s.hash == hash && n.values[s.taken-1] == v {
			return s.taken - 1
		}
	}
	n.values = append(n.values, v)
	number := int32(len(n.values))
	n.slots[i] = slot{hash, number}
	if 2*len(n.values) > len(n.slots) {
		n.grow()
	}
	return number - 1
}

func (n *numbering) grow() {
	old := n.slots
	n.slots = make([]slot, 2*len(old))
	mask := uint32(len(n.slots) - 1)
	for _, s := range old {
		if s.taken == 0 {
			continue
		}
		i := s.hash & mask
		for n.slots[i].taken > 0 {
			i = (i + 1) & mask
		}
		n.slots[i] = s
	}
}

var hashSeed = maphash.MakeSeed()

// noHash is the hash of [Null], and of no other value.
const noHash = 0

// hashOf is a hash of a value, another one in every process. Nothing but the time of a search in a table depends on it.
func hashOf(v Value) uint32 {
	var hash uint64
	switch v.kind {
	case kindNull:
		return noHash
	case kindStr:
		hash = maphash.String(hashSeed, v.text)
	default:
		hash = persistent.Mix(uint64(v.number))
	}
	return max(uint32(hash), noHash+1)
}

// numberItems returns, by operation, the number of the value that it is about, or noItem; nil if there are none.
func numberItems(h History, of func(*Operation) Value) []int32 {
	if of == nil {
		return nil
	}
	hashes := make([]uint32, len(h))
	for i := range h {
		hashes[i] = hashOf(of(&h[i]))
	}
	return numberHashed(h, of, hashes, 1)
}

// numberHashed is numberItems where the values' hashes are known. So many goroutines number shares of the values, by
// hash; then those numbers are replaced by the ones that a single goroutine would have given.
func numberHashed(h History, of func(*Operation) Value, hashes []uint32, goroutines int) []int32 {
	share := func(hash uint32) int { return int(uint64(hash) * uint64(goroutines) >> 32) }
	items, final := make([]int32, len(h)), make([][]int32, goroutines)
	parallel.Do(len(h), goroutines, func(k, from, _ int) {
		numbers := newNumbering(len(h)/goroutines/2 + 1)
		for at := range h {
			i := at + from // each begins elsewhere, as two processors that write side by side wait for each other
			if i >= len(h) {
				i -= len(h)
			}
			if hash := hashes[i]; hash != noHash && share(hash) == k {
				items[i] = numbers.numberHashed(of(&h[i]), hash)
			}
		}
		final[k] = make([]int32, len(numbers.values))
	})
	count := int32(0)
	for i, hash := range hashes {
		if hash == noHash {
			items[i] = step.NoItem
			continue
		}
		number := &final[share(hash)][items[i]] // plus 1
		if *number == 0 {
			count++
			*number = count
		}
		items[i] = *number - 1
	}
	return items
}

// itemCount is how many values were numbered.
func itemCount(items []int32) int32 {
	last := int32(step.NoItem)
	for _, item := range items {
		last = max(last, item)
	}
	return last + 1
}
