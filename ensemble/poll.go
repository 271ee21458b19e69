package ensemble

import (
	"context"
	"fmt"
	"time"
)

// pollInterval is how often something is looked at again that cannot be waited for.
const pollInterval = 20 * time.Millisecond

// poll tries until it succeeds or ctx ends; then the error wraps ctx's and tells the last failure.
func poll(ctx context.Context, try func() error) error {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w (%w)", ctx.Err(), err)
		case <-ticker.C:
		}
	}
}
