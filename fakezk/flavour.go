package fakezk

import (
	"slices"

	"github.com/go-zookeeper/zk"
)

// Flavour is how a client library tells its watches about the state of the connection. Recipes that
// were written for other libraries than go-zookeeper rely on it, and some of their bugs are in what
// they make of it.
type Flavour uint8

const (
	// FlavourGo is go-zookeeper: a watch hears of its znode only, or of its own end by an expiry or a
	// Close. After a reconnect it is set again.
	FlavourGo Flavour = iota
	// FlavourJava is ZooKeeper's own client: every registered watch is told of each change of the
	// connection's state (zk.EventSession with StateDisconnected, StateHasSession, StateExpired) and
	// stays registered (ZKWatchManager.materialize). Its channel is closed after the last event only.
	FlavourJava
	// FlavourKazoo is Python's kazoo: when the connection breaks every watch is told so (zk.EventSession
	// with StateDisconnected), once, and dropped; nothing sets it again (client.py, _reset_watchers).
	FlavourKazoo
)

// watchBuffer is how many events a watch's channel holds. Java's client queues without bound; what
// does not fit here is dropped.
func (f Flavour) watchBuffer() int {
	if f == FlavourJava {
		return 64
	}
	return 1
}

// tellWatches tells the watches of a change of the connection's state.
func (c *Client) tellWatches(state zk.State) {
	switch {
	case c.killed.Load() || c.closed.Load():
	case c.Flavour == FlavourJava && (state == zk.StateDisconnected || state == zk.StateHasSession || state == zk.StateExpired):
		for _, w := range slices.Clone(c.watches) {
			w.tell(zk.Event{Type: zk.EventSession, State: state})
			c.settle()
		}
	case c.Flavour == FlavourKazoo && state == zk.StateDisconnected:
		all := c.watches
		c.watches = nil
		for _, w := range all {
			c.notify(w, zk.Event{Type: zk.EventSession, State: state})
		}
	}
}

// tell hands an event to whoever listens, unless its channel is full.
func (w watch) tell(event zk.Event) {
	select {
	case w.ch <- event:
	default:
	}
}
