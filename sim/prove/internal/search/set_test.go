package search

import (
	"math/rand/v2"
	"testing"
)

// A set has what was added to it, each once, however large it becomes.
func TestSet(t *testing.T) {
	var s set
	in := map[uint64]bool{}
	draw := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		hash := draw.Uint64N(1<<13)<<51 | draw.Uint64N(4)
		if s.has(hash) != in[max(hash, 1)] || s.add(hash) == in[max(hash, 1)] || !s.has(hash) {
			t.Fatalf("%x", hash)
		}
		in[max(hash, 1)] = true
	}
	for hash := range s.all {
		if !in[hash] {
			t.Fatalf("%x was never added", hash)
		}
		delete(in, hash)
	}
	if len(in) > 0 {
		t.Errorf("%d are left out of %d", len(in), s.size)
	}
}
