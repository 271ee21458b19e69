package search

// set is a set of hashes, of which 0 and 1 count as one, by open addressing: each takes 11 to 22 bytes, at which the
// garbage collector does not look.
type set struct {
	slots []uint64 // of which at most three quarters are in use: the others are 0
	size  int
}

// add is false if the hash is in the set already.
func (s *set) add(hash uint64) bool {
	if 4*s.size >= 3*len(s.slots) {
		old := *s
		s.slots = make([]uint64, max(1<<10, 2*len(old.slots)))
		for hash := range old.all {
			*s.slot(hash) = hash
		}
	}
	if s.has(hash) {
		return false
	}
	*s.slot(hash) = max(hash, 1)
	s.size++
	return true
}

func (s *set) has(hash uint64) bool { return s.size > 0 && *s.slot(hash) != 0 }

// slot is where a hash is, or has its place.
func (s *set) slot(hash uint64) *uint64 {
	last := uint64(len(s.slots) - 1)
	for at := hash & last; ; at = (at + 1) & last {
		if slot := &s.slots[at]; *slot == max(hash, 1) || *slot == 0 {
			return slot
		}
	}
}

// all are the hashes of the set.
func (s *set) all(yield func(uint64) bool) {
	for _, hash := range s.slots {
		if hash != 0 && !yield(hash) {
			return
		}
	}
}
