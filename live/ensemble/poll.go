package ensemble

import (
	"context"
	"fmt"
	"time"
)

// pollInterval is the time between two attempts of poll.
const pollInterval = 20 * time.Millisecond

// poll tries until it succeeds or ctx ends; then the error wraps ctx's and the last failure before it.
func poll(ctx context.Context, try func() error) error {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for last := error(nil); ; {
		err := try()
		if err == nil {
			return nil
		}
		if last == nil || ctx.Err() == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w (%w)", ctx.Err(), last)
		case <-ticker.C:
		}
	}
}

// wait waits for a time, or until ctx ends, which is an error.
func wait(ctx context.Context, long time.Duration) error {
	select {
	case <-time.After(long):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
