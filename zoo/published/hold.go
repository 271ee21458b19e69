package published

import (
	"sync/atomic"

	"github.com/go-zookeeper/zk"
)

// owner is a user of a lock or an election, which knows whether it holds it.
type owner struct{ hold atomic.Pointer[hold] }

// IsOwner tells whether there is a hold, as far as the client knows.
func (o *owner) IsOwner() bool { return o.hold.Load().lasts() }

// begin begins a hold.
func (o *owner) begin() *hold {
	h := new(hold)
	o.hold.Store(h)
	return h
}

// hold is what a client knows of one hold of a lock.
type hold struct{ over atomic.Bool }

// keep ends the hold with the first event of the own znode: it is gone, or the session.
func (h *hold) keep(watch <-chan zk.Event) {
	<-watch
	h.over.Store(true)
}

// lasts tells whether there is a hold that is not over.
func (h *hold) lasts() bool { return h != nil && !h.over.Load() }
