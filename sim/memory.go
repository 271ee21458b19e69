package sim

import "github.com/zktorture/zktorture/fakezk"

// memory is what worlds that run one after the other use in turn, so that it is allocated once.
type memory struct {
	changes  []Change
	herd     []Herd
	removals []Removal
	ticks    []tick
	deaths   map[int64]int   // the steps at which sessions ended
	parents  map[string]bool // znodes that have had children

	submitted, submittedBefore []*fakezk.Call // guarded by World.mu, as are …
	notes, notesBefore         []note         // … operations that have begun or ended …
	ended, endedBefore         []*Op          // … and those whose contexts are to end

	actions  []action
	targets  []target
	empty    []string
	pinging  []int64
	watchers []fakezk.Watcher
}

func newMemory() *memory {
	return &memory{deaths: map[int64]int{}, parents: map[string]bool{}}
}

// forget makes the memory as new.
func (m *memory) forget() {
	clear(m.deaths)
	clear(m.parents)
	m.changes, m.herd, m.ticks, m.removals = m.changes[:0], m.herd[:0], m.ticks[:0], m.removals[:0]
	m.submitted, m.notes, m.ended = m.submitted[:0], m.notes[:0], m.ended[:0]
}
