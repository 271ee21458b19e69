package goclient

import (
	"slices"

	"github.com/go-zookeeper/zk"
)

// ClientSemantics is how a client library treats its watches when the state of the connection changes. Recipes that
// were written for other libraries than go-zookeeper rely on it, and some of their bugs are in how they handle it.
type ClientSemantics uint8

const (
	// SemanticsGo is go-zookeeper: a watch hears of its znode only, or of its own end by an expiry or a
	// Close. After a reconnect it is set again.
	SemanticsGo ClientSemantics = iota
	// SemanticsJava is ZooKeeper's own client: every registered watch is told of each change of the
	// connection's state (zk.EventSession with StateDisconnected, StateHasSession, StateExpired) and
	// stays registered (ZKWatchManager.materialize). Its channel is closed after the last event only.
	SemanticsJava
	// SemanticsKazoo is Python's kazoo: when the connection breaks every watch is told so (zk.EventSession
	// with StateDisconnected), once, and dropped; nothing sets it again (client.py, _reset_watchers).
	SemanticsKazoo
)

// watchBuffer is how many events a watch's channel holds. Java's client queues without bound; what
// does not fit here is dropped.
func (f ClientSemantics) watchBuffer() int {
	if f == SemanticsJava {
		return 64
	}
	return 1
}

var toldByJava = []zk.State{zk.StateDisconnected, zk.StateHasSession, zk.StateExpired}

// tellWatches tells the watches of a change of the connection's state.
func (c *Client) tellWatches(state zk.State) {
	switch {
	case c.killed.Load() || c.closed.Load():
	case c.Semantics == SemanticsJava && slices.Contains(toldByJava, state):
		for _, w := range slices.Clone(c.watches) {
			c.tellWatch(w, zk.Event{Type: zk.EventSession, State: state}, false)
		}
	case c.Semantics == SemanticsKazoo && state == zk.StateDisconnected:
		all := c.watches
		c.watches = nil
		for _, w := range all {
			c.tellWatch(w, zk.Event{Type: zk.EventSession, State: state}, true)
		}
	}
}

// tell sends an event to the listener, unless its channel is full.
func (w watch) tell(event zk.Event) {
	select {
	case w.ch <- event:
	default:
	}
}
