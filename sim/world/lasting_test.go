package world

import "testing"

// What two operations hold by one channel is given back at once.
func TestGivenBackIsForgotten(t *testing.T) {
	w, lost := &World{step: 1}, make(chan struct{})
	write, again, other := &Op{}, &Op{}, &Op{}
	for op, lost := range map[*Op]chan struct{}{write: lost, again: lost, other: make(chan struct{})} {
		op.user = &User{world: w}
		op.LastsUntil(lost)
	}
	write.LastsUntil(nil)
	if noteLost(w); len(w.lasting) != 1 || w.lasting[0].op != other {
		t.Errorf("after what was held was given back, %d operations still last", len(w.lasting))
	}
}
