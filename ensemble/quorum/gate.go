package quorum

import (
	"math"
	"net"
	"sync"
	"sync/atomic"
)

// Gate is what passes to one follower, whoever leads. All methods may be called at any time, by any goroutine.
type Gate struct {
	limit atomic.Int64 // the last transaction whose COMMIT passes

	mu    sync.Mutex
	conns map[*Conn]bool
}

// open is the limit of a gate that holds nothing.
const open = math.MaxInt64

// NewGate returns a gate that lets everything pass.
func NewGate() *Gate {
	g := &Gate{conns: map[*Conn]bool{}}
	g.limit.Store(open)
	return g
}

// Hold lets pass COMMITs of transactions up to a zxid, and none of later ones, nor what must not overtake them.
// What is held already passes as far as that goes.
func (g *Gate) Hold(zxid int64) { g.set(zxid) }

// Free lets everything pass, first what is held.
func (g *Gate) Free() { g.set(open) }

// Holds tells whether there are transactions that would not pass.
func (g *Gate) Holds() bool { return g.limit.Load() < open }

func (g *Gate) set(limit int64) {
	g.limit.Store(limit)
	g.mu.Lock()
	defer g.mu.Unlock()
	for c := range g.conns {
		c.stir()
	}
}

// Blind tells whether a connection is open of which nothing can be held, since it has carried a snapshot.
func (g *Gate) Blind() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for c := range g.conns {
		if c.blind() {
			return true
		}
	}
	return false
}

// Conn returns a follower's connection to a leader on which the gate stands: what is read from it has passed. It is to
// be read or closed by its owner until that ends.
func (g *Gate) Conn(leader *net.TCPConn) *Conn {
	c := newConn(g, leader)
	g.mu.Lock()
	g.conns[c] = true
	g.mu.Unlock()
	go c.receive()
	return c
}

func (g *Gate) forget(c *Conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.conns, c)
}
