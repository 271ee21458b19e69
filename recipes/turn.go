package recipes

import "context"

// turn is a mutex that may be held across calls to ZooKeeper, and whose waiters can give up.
type turn chan struct{} // holds one token while the turn is taken

func newTurn() turn { return make(turn, 1) }

// take waits for the turn. When the context has ended it is not taken, even if it is free.
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
