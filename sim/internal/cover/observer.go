package cover

import "github.com/zktorture/zktorture/sim/world"

// Observer notes the [Coverage] of the episodes of one worker. It makes no choice and changes nothing: an episode that is
// observed is the episode that is not.
type Observer struct {
	world.Blind
	seen Coverage
	asks bool // of every fault, at every step, where it could strike
}

// askedShare: in one of that many episodes it is asked at every step where each fault could strike. In the others it is
// known of the fault that strikes, as it chooses one of those places.
const askedShare = 64

// NewObserver returns an observer that has seen nothing.
func NewObserver() *Observer { return &Observer{seen: Coverage{}} }

// Next says of which episode is what follows, and returns the observer as one of the world's; none if it is nil.
func (k *Observer) Next(episode int) []world.Observer {
	if k == nil {
		return nil
	}
	k.asks = episode%askedShare == 0
	return []world.Observer{k}
}

// Coverage is what was seen so far.
func (k *Observer) Coverage() Coverage { return k.seen }

// Chooses notes where each fault of the episode could strike now.
func (k *Observer) Chooses(w *world.World, label string) {
	if !k.asks || label != world.LabelFault {
		return
	}
	for f := range (w.Faults() &^ world.Wrap).Each() {
		w.CanStrike(f, func(t world.Target) bool {
			w.Ways(f, t, func(way world.Way) { k.note(way, false) })
			return false
		})
	}
}

// Happens notes that a fault is about to strike one of the targets that it has.
func (k *Observer) Happens(w *world.World, d world.Event) {
	if d.Fault == 0 {
		return
	}
	f := world.Faults(1 << (d.Fault - 1))
	for _, t := range w.Targets() {
		struck := d.Strikes(t)
		w.Ways(f, t, func(way world.Way) { k.note(way, struck) })
	}
}

func (k *Observer) note(way world.Way, struck bool) { k.seen[way] = k.seen[way] || struck }
