package fakezk

import (
	"slices"

	"github.com/go-zookeeper/zk"
)

// eventBuffer is the capacity of go-zookeeper's event channel (conn.go: eventChanSize, sendEvent).
const eventBuffer = 6

// reader is a channel of the client's events.
type reader struct {
	user int
	ch   chan zk.Event
	held []zk.Event // see [Client.HoldEvents]
}

// SessionEvents returns a new channel with the content of go-zookeeper's event channel: every change of the
// connection's state, and a copy of every watch event. It begins with the changes since the client last began to
// connect (Connecting, Connected, HasSession if all is well), holds six events, drops those that come while it is
// full, and is closed with the client.
func (c *Conn) SessionEvents() <-chan zk.Event {
	r := &reader{user: c.user, ch: make(chan zk.Event, eventBuffer)}
	c.reading.Lock()
	defer c.reading.Unlock()
	for _, event := range c.latest {
		c.offer(r.ch, event)
	}
	if c.silent {
		close(r.ch)
		return r.ch
	}
	readers := append(slices.Clone(c.readersNow()), r)
	slices.SortStableFunc(readers, func(a, b *reader) int { return a.user - b.user })
	c.readers.Store(&readers)
	return r.ch
}

// readersNow returns the readers of this moment in a list that never changes.
func (c *Client) readersNow() []*reader {
	if readers := c.readers.Load(); readers != nil {
		return *readers
	}
	return nil
}

// Readers returns how many channels hold something back: those that [Conn.SessionEvents] has returned, and behind them those
// in which something is late, see [Client.Stall].
func (c *Client) Readers() int { return len(c.readersNow()) + len(c.late) }

// Held returns how many events are held back from a reader, see [Client.HoldEvents].
func (c *Client) Held(reader int) int {
	if c.Late(reader) {
		return 1 + len(c.late[reader-len(c.readersNow())].behind)
	}
	return len(c.readersNow()[reader].held)
}

// HoldsAny tells whether events are held back from any reader, or anything is late.
func (c *Client) HoldsAny() bool {
	return len(c.late) > 0 || slices.ContainsFunc(c.readersNow(), func(r *reader) bool { return len(r.held) > 0 })
}

// Oldest returns what a reader is told next.
func (c *Client) Oldest(reader int) Told {
	if c.Late(reader) {
		return c.late[reader-len(c.readersNow())].Told
	}
	r := c.readersNow()[reader]
	return Told{User: r.user, Event: r.held[0], Knew: c.knowledge()}
}

// Tell hands the oldest of what is held back from a reader to it.
func (c *Client) Tell(reader int) {
	if c.Late(reader) {
		c.tellLate(reader - len(c.readersNow()))
		return
	}
	r := c.readersNow()[reader]
	event := r.held[0]
	r.held = r.held[1:]
	c.offer(r.ch, event)
}

// hold keeps an event if go-zookeeper's channel had room: for six, beside the one that a waiting reader takes.
func (r *reader) hold(event zk.Event) {
	room := eventBuffer - len(r.ch)
	if len(r.ch) == 0 {
		room++
	}
	if len(r.held) < room {
		r.held = append(r.held, event)
	}
}

// publish hands an event to all readers.
func (c *Client) publish(event zk.Event) {
	if c.silent {
		return
	}
	c.offer(c.events, event)
	for _, r := range c.remember(event) {
		if c.HoldEvents {
			r.hold(event)
		} else {
			c.offer(r.ch, event)
		}
	}
}

// remember keeps an event for later readers, and returns the present ones.
func (c *Client) remember(event zk.Event) []*reader {
	c.reading.Lock()
	defer c.reading.Unlock()
	if event.Type == zk.EventSession {
		if event.State == zk.StateConnecting {
			c.latest = c.latest[:0]
		}
		c.latest = append(c.latest, event)
	}
	return c.readersNow()
}

// offer sends an event, or drops it if there is no room, as go-zookeeper does.
func (c *Client) offer(ch chan zk.Event, event zk.Event) {
	select {
	case ch <- event:
		if len(ch) == 0 { // somebody has taken it
			c.settle()
		}
	default:
	}
}

// silence closes the channels of events. Readers of a process that has died get no more events.
func (c *Client) silence() {
	c.reading.Lock()
	c.silent = true
	c.reading.Unlock()
	close(c.events)
	for _, r := range c.readersNow() {
		for len(r.held) > 0 && !c.killed.Load() {
			c.offer(r.ch, r.held[0])
			r.held = r.held[1:]
		}
		r.held = nil
		close(r.ch)
		c.settle()
	}
}
