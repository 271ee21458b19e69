package persistent

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestFIFOEqualIsExact forges queues whose hashes collide.
func TestFIFOEqualIsExact(t *testing.T) {
	empty := NewQueue()
	a, b, long := empty.Push(1).Push(2), empty.Push(1).Push(3), empty.Push(1).Push(2).Push(3)
	b.Hash, long.Hash = a.Hash, a.Hash
	if a.Equal(b) || a.Equal(long) || long.Equal(a) {
		t.Error("queues with different items are equal")
	}
}

// TestFIFO compares the persistent queue with a slice; old versions stay as they were.
func TestFIFO(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type version struct {
			queue *Queue
			items []int32
		}
		versions := []version{{queue: NewQueue()}}
		for i := range rapid.IntRange(0, 40).Draw(t, "size") {
			v := versions[rapid.IntRange(0, len(versions)-1).Draw(t, "version")]
			if len(v.items) > 0 && rapid.Bool().Draw(t, "pop") {
				head, rest := v.queue.Pop()
				if head != v.items[0] {
					t.Fatalf("the head of %v is %d", v.items, head)
				}
				versions = append(versions, version{rest, v.items[1:]})
				continue
			}
			item := int32(i % 3)
			versions = append(versions, version{v.queue.Push(item), append(slices.Clone(v.items), item)})
		}
		for _, a := range versions {
			for _, b := range versions {
				equal := slices.Equal(a.items, b.items)
				if a.queue.Equal(b.queue) != equal || equal && a.queue.Hash != b.queue.Hash {
					t.Fatalf("%v and %v: equal is %v, hashes %x %x", a.items, b.items, !equal, a.queue.Hash,
						b.queue.Hash)
				}
			}
		}
	})
}
