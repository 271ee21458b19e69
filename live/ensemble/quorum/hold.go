package quorum

import (
	"math"
	"net"
	"sync"
	"sync/atomic"
)

// Hold holds back what one follower hears, whichever server leads. All methods may be called at any time, by any
// goroutine.
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

// Hold lets COMMITs of transactions up to a zxid pass, none of later ones, and nothing that must not overtake them.
func (h *Hold) Hold(zxid int64) {
	h.limit.Store(zxid)
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.conns {
		c.stir()
	}
}

// Free lets everything pass, first what is held.
func (h *Hold) Free() { h.Hold(open) }

// Holds reports whether there are transactions that would not pass.
func (h *Hold) Holds() bool { return h.limit.Load() < open }

// Blind reports whether a connection is open on which nothing can be held, because it has carried a snapshot.
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

// Conn puts the hold on a follower's connection to a leader: what is read from the result has passed. Its owner has
// to read it until it ends, or close it.
func (h *Hold) Conn(leader *net.TCPConn) *Conn {
	c := &Conn{stream: leader, hold: h}
	c.changed = sync.NewCond(&c.mu)
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
