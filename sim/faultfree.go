package sim

import "time"

// tick is the servers' time after some had passed in a step of the liveness phase.
type tick struct {
	step int
	ms   int64
}

// noteTick notes what time it is in the liveness phase.
func (w *World) noteTick() {
	if w.liveness {
		w.ticks = append(w.ticks, tick{w.step, w.elapsed})
	}
}

// FaultFree returns a lower bound of the time between two stamps in which no fault was in effect.
func (w *World) FaultFree(from, to int64) time.Duration {
	if len(w.ticks) == 0 {
		return 0
	}
	begin, end := w.ticks[0].ms, w.ticks[0].ms
	for _, t := range w.ticks {
		if t.step <= StepOf(from) { // it may have been after that
			begin = t.ms
		}
		if t.step < StepOf(to) {
			end = t.ms
		}
	}
	return max(0, time.Duration(end-begin)*time.Millisecond)
}

// Undisturbed tells whether no fault was in effect from a stamp on, as far as is known.
func (w *World) Undisturbed(from int64) bool {
	return w.Struck() == 0 || len(w.ticks) > 0 && w.ticks[0].step < StepOf(from)
}
