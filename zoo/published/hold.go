package published

import (
	"sync/atomic"

	"github.com/go-zookeeper/zk"
)

// hold is what a client knows of one hold of a lock.
type hold struct{ over atomic.Bool }

// keep ends the hold with the first event of the own znode: it is gone, or the session.
func (h *hold) keep(watch <-chan zk.Event) {
	<-watch
	h.over.Store(true)
}

// lasts tells whether there is a hold that is not over.
func (h *hold) lasts() bool { return h != nil && !h.over.Load() }
