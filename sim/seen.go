package sim

// tally is in which episodes something was seen: the first, and whether there is another.
type tally struct {
	First int  `json:"first"`
	Again bool `json:"again,omitempty"`
}

// add adds what others have seen of the same.
func (t tally) add(o tally) tally {
	return tally{min(t.First, o.First), t.Again || o.Again || t.First != o.First}
}

// mark notes that an episode has shown something. Episodes come in their order.
func mark[K comparable](seen map[K]tally, what K, episode int) {
	t, known := seen[what]
	switch {
	case !known:
		seen[what] = tally{First: episode}
	case !t.Again && t.First != episode:
		seen[what] = tally{t.First, true}
	}
}

// merge returns what is in either; it may change both.
func merge[K comparable](seen, others map[K]tally) map[K]tally {
	if len(seen) < len(others) {
		seen, others = others, seen
	}
	for what, o := range others {
		if t, known := seen[what]; known {
			o = t.add(o)
		}
		seen[what] = o
	}
	return seen
}

// sketch is a set of hashes in bounded memory: of many it keeps those below 2^(64-Level), with all that is to be said of
// them (Wegman's adaptive sampling; Flajolet, Computing 43, 1990). The level is the least with which most suffice, so it
// does not depend on the order.
type sketch struct {
	Level int              `json:"level,omitempty"`
	Seen  map[uint64]tally `json:"seen"`
	most  int
}

// statesMax bounds the states that are kept: the number is estimated to half a percent or so where it is exceeded.
const statesMax = 1 << 16

func newSketch(most int) sketch { return sketch{Seen: map[uint64]tally{}, most: most} }

// keeps tells whether a hash is below the bound.
func (s *sketch) keeps(hash uint64) bool { return hash>>(64-s.Level) == 0 }

func (s *sketch) note(hash uint64, episode int) {
	if s.keeps(hash) {
		mark(s.Seen, hash, episode)
		s.bound()
	}
}

func (s *sketch) merge(o sketch) {
	s.Level = max(s.Level, o.Level)
	s.Seen = merge(s.Seen, o.Seen)
	s.drop()
	s.bound()
}

// bound halves the share of hashes that are kept until they are few enough.
func (s *sketch) bound() {
	for len(s.Seen) > s.most {
		s.Level++
		s.drop()
	}
}

func (s *sketch) drop() {
	if s.Level == 0 {
		return
	}
	for hash := range s.Seen {
		if !s.keeps(hash) {
			delete(s.Seen, hash)
		}
	}
}

// scaled is how many hashes there are where so many are kept.
func (s *sketch) scaled(kept int) int { return kept << s.Level }

// sights are what some episodes of a campaign have shown of the world, in a form in which several add up, see
// [Coverage]. They need bounded memory.
type sights struct {
	Offered map[Placement]bool  `json:"offered"`
	Struck  map[Placement]tally `json:"struck"`
	Pairs   map[uint64]tally    `json:"pairs"`
	States  sketch              `json:"states"`
}

func newSights() *sights {
	return &sights{map[Placement]bool{}, map[Placement]tally{}, map[uint64]tally{}, newSketch(statesMax)}
}

// add adds what others have seen.
func (s *sights) add(o *sights) {
	for p := range o.Offered {
		s.Offered[p] = true
	}
	s.Struck, s.Pairs = merge(s.Struck, o.Struck), merge(s.Pairs, o.Pairs)
	s.States.merge(o.States)
}

// sights are what the witness has seen.
func (k *witness) sights() *sights {
	s := newSights()
	for e := range k.offered {
		s.Offered[k.placement(e)] = true
	}
	for e, t := range k.struck {
		s.Struck[k.placement(e)] = t
	}
	s.Pairs, s.States = k.pairs, k.states
	return s
}
