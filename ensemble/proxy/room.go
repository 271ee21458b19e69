package proxy

import (
	"sync"
	"sync/atomic"
)

// directionMax bounds the bytes of one direction of a connection that wait in the proxy; then it reads no more, and
// TCP holds back the sender. A longer frame waits alone.
const directionMax = 1 << 20

// room is what one direction of a connection may keep: one goroutine takes, and one gives back.
type room struct {
	all *atomic.Int64 // bytes that wait in the proxy
	max int64         // of all

	mu    sync.Mutex
	used  int64
	freed chan struct{}
}

func newRoom(all *atomic.Int64, max int64) *room {
	return &room{all: all, max: max, freed: make(chan struct{}, 1)}
}

// take waits until there is room for n bytes; false if done is closed before. If the whole proxy is full it does not
// wait, as the others may wait for ever.
func (r *room) take(n int64, done <-chan struct{}) (ok, full bool) {
	for !r.enter(n) {
		select {
		case <-r.freed:
		case <-done:
			return false, false
		}
	}
	if r.all.Add(n) > r.max {
		return false, true
	}
	return true, false
}

func (r *room) enter(n int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.used > 0 && r.used+n > directionMax {
		return false
	}
	r.used += n
	return true
}

// give returns n bytes.
func (r *room) give(n int64) {
	r.mu.Lock()
	r.used -= n
	r.mu.Unlock()
	r.all.Add(-n)
	select {
	case r.freed <- struct{}{}:
	default:
	}
}

// leave returns all.
func (r *room) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all.Add(-r.used)
	r.used = 0
}
