package goclient

import (
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/goclient/parked"
	"github.com/zktorture/zktorture/fakezk/wire"
)

type watchKind int8

const (
	watchData watchKind = iota
	watchExist
	watchChild
)

// topic is what go-zookeeper keeps the channels of watches by (watchPathType).
type topic struct {
	path string
	kind watchKind
}

type watch struct {
	topic
	user int
	tag  int64
	ch   chan zk.Event
}

// watches are those of a client, in the order in which they were set.
type watches []watch

// take removes the watches of a topic.
func (l *watches) take(of topic, hit []watch) []watch {
	for _, w := range *l {
		if w.topic == of {
			hit = append(hit, w)
		}
	}
	if len(hit) > 0 {
		*l = slices.DeleteFunc(*l, func(w watch) bool { return w.topic == of })
	}
	return hit
}

// topics lists what is watched, in the order of the first watch of each.
func (l watches) topics() (list []topic) {
	seen := map[topic]bool{}
	for _, w := range l {
		if !seen[w.topic] {
			seen[w.topic] = true
			list = append(list, w.topic)
		}
	}
	return list
}

// Of go-zookeeper: how long a setWatches may become, which it takes for so long when it is empty.
const (
	setWatchesMax  = 128 << 10
	setWatchesSize = 28
)

// setAgain re-arms the watches, with as many requests as keep each below setWatchesMax (conn.go: sendSetWatches).
func (l watches) setAgain(lastZxid int64) (requests []fakezk.Request) {
	size := setWatchesMax
	for _, w := range l.topics() {
		if size += 4 + len(w.path); size > setWatchesMax {
			size = setWatchesSize + 4 + len(w.path)
			requests = append(requests, fakezk.Request{Op: wire.OpSetWatches, RelativeZxid: lastZxid})
		}
		r := &requests[len(requests)-1]
		list := r.WatchLists()[w.kind]
		*list = append(*list, w.path)
	}
	return requests
}

// register keeps the watch that a call leaves.
func (c *Client) register(call *Call, code wire.Code) {
	kind := watchData
	switch {
	case code == wire.CodeNoNode && call.Request.Op == wire.OpExists:
		kind = watchExist
	case code != wire.CodeOK:
		return
	case call.Request.Op == wire.OpGetChildren2:
		kind = watchChild
	}
	call.watch = make(chan zk.Event, c.Semantics.watchBuffer())
	c.watches = append(c.watches, watch{topic{call.Request.Path, kind}, call.User, call.Tag, call.watch})
}

// Watches returns how many watch channels wait for an event.
func (c *Client) Watches() int { return len(c.watches) }

// Watcher is who has set a watch: the handle, and the tag of the call.
type Watcher struct {
	User int
	Tag  int64
}

// WatchedBy appends to list who has set the pending watches on path.
func (c *Client) WatchedBy(path string, list []Watcher) []Watcher {
	for _, w := range c.watches {
		if w.path == path {
			list = append(list, Watcher{w.user, w.tag})
		}
	}
	return list
}

// kindsOf are the watches that an event concerns.
var kindsOf = [...][]watchKind{
	zk.EventNodeCreated:         {watchExist},
	zk.EventNodeDataChanged:     {watchExist, watchData},
	zk.EventNodeChildrenChanged: {watchChild},
	zk.EventNodeDeleted:         {watchExist, watchData, watchChild},
}

// fire hands a watch event to the watches that it concerns (conn.go: notifyWatches).
func (c *Client) fire(event zk.Event) {
	c.publish(event)
	for _, kind := range kindsOf[event.Type] {
		var few [4]watch // so that none are allocated
		for _, w := range c.watches.take(topic{event.Path, kind}, few[:0]) {
			c.tellWatch(w, event, true)
		}
	}
}

// invalidate ends every watch (conn.go: invalidateWatches). The event channel gets one event for each topic.
func (c *Client) invalidate(err error) {
	all := c.watches
	c.watches = nil
	published := map[topic]bool{}
	for _, w := range all {
		event := zk.Event{Type: zk.EventNotWatching, State: zk.StateDisconnected, Path: w.path, Err: err}
		if !published[w.topic] {
			published[w.topic] = true
			c.publish(event)
		}
		c.tellWatch(w, event, true)
	}
}

// tellWatch tells a watch of an event, unless its goroutine is stalled.
func (c *Client) tellWatch(w watch, event zk.Event, last bool) {
	if !c.delay(late{Told: Told{User: w.user, Event: event}, watch: w, ends: last}) {
		c.inform(w, event, last)
	}
}

// inform hands an event to a watch, whose channel is closed with the last one. Of several goroutines at one channel the
// first gets the event; the others see the channel closed.
func (c *Client) inform(w watch, event zk.Event, last bool) {
	w.tell(event)
	if !last {
		c.settle()
		return
	}
	if len(w.ch) == 0 { // somebody has taken it
		c.settle()
	}
	unheard := c.SettlesWoken && parked.NobodyAt(w.ch)
	close(w.ch)
	if !unheard {
		c.settle()
	}
}
