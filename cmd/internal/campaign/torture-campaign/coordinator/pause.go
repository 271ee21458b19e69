package coordinator

import (
	"context"
	"time"
)

// pause waits; false: the context has ended.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
