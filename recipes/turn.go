package recipes

import "context"

// turn lets one goroutine after the other do something. Unlike a mutex it may be held across calls
// to ZooKeeper, and who waits for it can give up.
type turn chan struct{} // holds one token while somebody has the turn

func newTurn() turn { return make(turn, 1) }

// take waits for the turn. It is not taken when the context has ended, also if it is free.
func (t turn) take(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t turn) give() { <-t }
