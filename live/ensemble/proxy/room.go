package proxy

import (
	"context"
	"sync/atomic"

	"golang.org/x/sync/semaphore"
)

// directionMax bounds the bytes of one direction of a connection that wait in the proxy; then it reads no more, and TCP
// holds back the sender. A longer frame waits alone.
const directionMax = 1 << 20

// room is what one direction of a connection may keep: one goroutine takes, and one gives back.
type room struct {
	all  *atomic.Int64 // bytes that wait in the proxy
	max  int64         // of all
	own  *semaphore.Weighted
	used atomic.Int64
}

func newRoom(all *atomic.Int64, max int64) *room {
	return &room{all: all, max: max, own: semaphore.NewWeighted(directionMax)}
}

// take waits until there is room for n bytes; false if ctx ends before. If the whole proxy is full it does not wait, as
// the others may wait for ever.
func (r *room) take(ctx context.Context, n int64) (ok, full bool) {
	if r.own.Acquire(ctx, min(n, directionMax)) != nil {
		return false, false
	}
	r.used.Add(n)
	full = r.all.Add(n) > r.max
	return !full, full
}

// give returns n bytes.
func (r *room) give(n int64) {
	r.own.Release(min(n, directionMax))
	r.used.Add(-n)
	r.all.Add(-n)
}

// leave returns all.
func (r *room) leave() { r.all.Add(-r.used.Swap(0)) }
