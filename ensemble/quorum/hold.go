package quorum

import (
	"math"
	"net"
	"sync"
	"sync/atomic"
)

// Hold holds back what one follower hears, whichever server leads. All methods may be called at any time, by any goroutine.
type Hold struct {
	limit atomic.Int64 // the last transaction whose COMMIT passes

	mu    sync.Mutex
	conns map[*Conn]bool
}

// open is the limit if nothing is held.
const open = math.MaxInt64

// NewHold returns a hold that lets everything pass.
func NewHold() *Hold {
	h := &Hold{conns: map[*Conn]bool{}}
	h.limit.Store(open)
	return h
}

// Hold lets pass COMMITs of transactions up to a zxid, and none of later ones, nor what must not overtake them.
// What is held already passes as far as that goes.
func (h *Hold) Hold(zxid int64) { h.set(zxid) }

// Free lets everything pass, first what is held.
func (h *Hold) Free() { h.set(open) }

// Holds tells whether there are transactions that would not pass.
func (h *Hold) Holds() bool { return h.limit.Load() < open }

func (h *Hold) set(limit int64) {
	h.limit.Store(limit)
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.conns {
		c.stir()
	}
}

// Blind tells whether a connection is open of which nothing can be held, since it has carried a snapshot.
func (h *Hold) Blind() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.conns {
		if c.blind() {
			return true
		}
	}
	return false
}

// Conn returns a follower's connection to a leader on which the hold stands: what is read from it has passed. It is to
// be read or closed by its owner until that ends.
func (h *Hold) Conn(leader *net.TCPConn) *Conn {
	c := newConn(h, leader)
	h.mu.Lock()
	h.conns[c] = true
	h.mu.Unlock()
	go c.receive()
	return c
}

func (h *Hold) forget(c *Conn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.conns, c)
}
