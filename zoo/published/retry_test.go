package published

import (
	"context"
	"errors"
	"testing"

	"github.com/go-zookeeper/zk"
)

// Where several things have happened already, which of them counts is no matter of luck: else a run
// could not be repeated.
func TestWaitsDrawNoLots(t *testing.T) {
	ended, end := context.WithCancel(t.Context())
	end()
	for range 100 {
		first, second := make(chan zk.Event, 1), make(chan zk.Event, 1)
		first <- zk.Event{Type: zk.EventNodeDeleted}
		second <- zk.Event{Type: zk.EventNodeCreated}
		if event, err := awaitAny(ended, first, second); !errors.Is(err, context.Canceled) {
			t.Fatalf("the end of the context was overlooked: %v, %v", event, err)
		}
		if err := await(ended, first); !errors.Is(err, context.Canceled) {
			t.Fatalf("the end of the context was overlooked: %v", err)
		}
		if event, err := awaitAny(t.Context(), first, second); event.Type != zk.EventNodeDeleted || err != nil {
			t.Fatalf("the first watch was overlooked: %v, %v", event, err)
		}
	}
}
