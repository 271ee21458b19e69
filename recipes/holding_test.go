package recipes

import (
	"context"
	"testing"
)

// What goes on within a hold ends with it, at once, and so does what begins afterwards.
func TestHoldEndsWhatIsWithin(t *testing.T) {
	a := &acquisition{holder: &holder{}, holding: holding{context.Background(), make(chan struct{})}}
	before, cancel := a.withinHold()
	defer cancel()
	if before.Err() != nil || a.holding.Err() != nil {
		t.Errorf("during the hold: %v, %v within", a.holding.Err(), before.Err())
	}
	a.release()
	a.release() // by the user, and at the end
	after, cancel := a.withinHold()
	defer cancel()
	for _, ctx := range []context.Context{&a.holding, before, after} {
		if !isClosed(ctx.Done()) || ctx.Err() != context.Canceled {
			t.Errorf("after the hold %v goes on", ctx)
		}
	}
}
