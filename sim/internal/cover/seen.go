package cover

// tally is in which episodes something was seen: the number of the first, or, if there is another, that number's
// complement.
type tally int

func (t tally) first() int {
	if t < 0 {
		return int(^t)
	}
	return int(t)
}

// once reports whether it was seen in one episode only.
func (t tally) once() bool { return t >= 0 }

// add adds what others have seen of the same.
func (t tally) add(o tally) tally {
	if t == o {
		return t
	}
	return ^tally(min(t.first(), o.first()))
}

// merge adds what others have seen.
func merge[K comparable](seen, others map[K]tally) {
	for what, o := range others {
		if t, known := seen[what]; known {
			o = t.add(o)
		}
		seen[what] = o
	}
}

// mark notes that an episode has shown something. Episodes come in their order.
func mark[K comparable](seen map[K]tally, what K, episode int) {
	t, known := seen[what]
	switch {
	case !known:
		seen[what] = tally(episode)
	case t.once() && t.first() != episode:
		seen[what] = ^t
	}
}

// sketch is a set of hashes in bounded memory: of many it keeps those below 2^(64-Level), with all that is to be said of
// them (Wegman's adaptive sampling; Flajolet, Computing 43, 1990). The level is the least with which most suffice, so it
// does not depend on the order.
type sketch struct {
	Level int              `json:"level,omitempty"`
	Most  int              `json:"most"`
	Seen  map[uint64]tally `json:"seen"`
}

// StatesMax is how many states are kept by default.
const StatesMax = 1 << 16

func newSketch(most int) sketch { return sketch{Most: most, Seen: map[uint64]tally{}} }

// keeps reports whether a hash is below the bound.
func (s *sketch) keeps(hash uint64) bool { return hash>>(64-s.Level) == 0 }

func (s *sketch) note(hash uint64, episode int) {
	if s.keeps(hash) {
		mark(s.Seen, hash, episode)
		s.bound()
	}
}

func (s *sketch) merge(o sketch) {
	s.Level = max(s.Level, o.Level)
	s.Most = min(s.Most, o.Most)
	merge(s.Seen, o.Seen)
	s.drop()
	s.bound()
}

// bound halves the share of hashes that are kept until they are few enough.
func (s *sketch) bound() {
	for len(s.Seen) > s.Most {
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

// Sights are what some episodes of a campaign have shown of the world, in a form in which several add up, see
// [Coverage]. They need bounded memory.
type Sights struct {
	Offered map[Placement]bool  `json:"offered"`
	Struck  map[Placement]tally `json:"struck"`
	Pairs   map[uint64]tally    `json:"pairs"`
	States  sketch              `json:"states"`
}

func NewSights(states int) *Sights {
	return &Sights{map[Placement]bool{}, map[Placement]tally{}, map[uint64]tally{}, newSketch(states)}
}

// Sound reports whether others can be added, and these to others.
func (s *Sights) Sound() bool {
	maps := s.Offered != nil && s.Struck != nil && s.Pairs != nil && s.States.Seen != nil
	return maps && s.States.Most > 0 && s.States.Level >= 0 && s.States.Level <= 64
}

// Add adds what others have seen.
func (s *Sights) Add(o *Sights) {
	for p := range o.Offered {
		s.Offered[p] = true
	}
	merge(s.Struck, o.Struck)
	merge(s.Pairs, o.Pairs)
	s.States.merge(o.States)
}

// Sights are what the witness has seen.
func (k *Observer) Sights() *Sights {
	s := NewSights(k.states.Most)
	for e := range k.offered {
		s.Offered[k.placement(e)] = true
	}
	for e, t := range k.struck {
		s.Struck[k.placement(e)] = t
	}
	s.Pairs, s.States = k.pairs, k.states
	return s
}
