package recipes

import (
	"sync"

	"github.com/go-zookeeper/zk"
)

// EventSource is what a [Conn] can have besides: the events of go-zookeeper's event channel, the one that zk.Connect
// returns. They are every change of the connection's state ([zk.EventSession] with StateConnecting, StateConnected,
// StateHasSession, StateExpired or StateDisconnected) and a copy of every watch event. The connections of simulated
// worlds and of real servers under torture have them, and so does what [WithEvents] returns.
type EventSource interface {
	// SessionEvents returns a new channel, so that each reader gets every event. It begins with the changes of state
	// since the client last began to connect: StateConnecting, StateConnected and StateHasSession if all is well. It
	// holds six events and drops what comes while it is full, as go-zookeeper's does: a reader that is late may never
	// hear of an expiry. It is closed after Close. It is nil if the connection is one around another that has no
	// events.
	SessionEvents() <-chan zk.Event
}

// SessionEvents returns a new channel of the connection's events, see [EventSource]. It lasts as long as the
// connection, so a recipe asks once. It is nil if conn has none to give, as a *zk.Conn without [WithEvents], or one
// that embeds a Conn and does not pass SessionEvents on: nothing ever comes from a nil channel, so a recipe that
// needs the events has to look.
func SessionEvents(conn Conn) <-chan zk.Event {
	if source, ok := conn.(EventSource); ok {
		return source.SessionEvents()
	}
	return nil
}

// WithEvents returns conn as an [EventSource], with the events of the channel that zk.Connect has returned beside it.
// A goroutine reads that channel until it is closed, which is after Close; nothing else may read it.
func WithEvents(conn Conn, events <-chan zk.Event) Conn {
	c := &eventful{Wrapper: Wrapper{conn}}
	go c.read(events)
	return c
}

// eventsMax is how many events go-zookeeper's channel holds (conn.go: eventChanSize).
const eventsMax = 6

type eventful struct {
	Wrapper

	mu      sync.Mutex
	latest  []zk.Event // since the client last began to connect
	readers []chan zk.Event
	closed  bool
}

// Unwrap returns the connection without its events.
func (c *eventful) Unwrap() Conn { return c.Conn }

// SessionEvents implements [EventSource].
func (c *eventful) SessionEvents() <-chan zk.Event {
	c.mu.Lock()
	defer c.mu.Unlock()
	events := make(chan zk.Event, eventsMax)
	for _, event := range c.latest {
		offer(events, event)
	}
	if c.closed {
		close(events)
		return events
	}
	c.readers = append(c.readers, events)
	return events
}

func (c *eventful) read(events <-chan zk.Event) {
	for event := range events {
		c.publish(event)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for _, reader := range c.readers {
		close(reader)
	}
}

func (c *eventful) publish(event zk.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if event.Type == zk.EventSession {
		if event.State == zk.StateConnecting {
			c.latest = c.latest[:0]
		}
		c.latest = append(c.latest, event)
	}
	for _, reader := range c.readers {
		offer(reader, event)
	}
}

// offer sends an event unless there is no room for it.
func offer(to chan<- zk.Event, event zk.Event) {
	select {
	case to <- event:
	default:
	}
}
