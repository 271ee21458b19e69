package goclient

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/go-zookeeper/zk"
)

// eventBuffer is the capacity of go-zookeeper's event channel (conn.go: eventChanSize, sendEvent).
const eventBuffer = 6

// events are what a client's session and watches bring about, for all who read them.
type events struct {
	ch      chan zk.Event // go-zookeeper's
	settle  func()
	readers atomic.Pointer[[]*reader]
	mu      sync.Mutex // guards who reads, and …
	latest  []zk.Event // … what has happened since the client last began to connect
	silent  bool       // the channels are closed

	full func(user int, event zk.Event) // see [Client.OnFull]; may be nil
}

// reader is a channel of the client's events.
type reader struct {
	user int
	ch   chan zk.Event
	held []Told // see [Client.HoldEvents]
}

// SessionEvents returns a new channel with the content of go-zookeeper's event channel: every change of the
// connection's state, and a copy of every watch event. It begins with the changes since the client last began to
// connect (Connecting, Connected, HasSession if all is well), holds six events, drops those that come while it is
// full, and is closed with the client.
func (c *Conn) SessionEvents() <-chan zk.Event {
	r := &reader{user: c.user, ch: make(chan zk.Event, eventBuffer)}
	c.events.add(r)
	return r.ch
}

func (e *events) add(r *reader) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, event := range e.latest {
		e.offer(r.ch, event)
	}
	if e.silent {
		close(r.ch)
		return
	}
	readers := append(slices.Clone(e.now()), r)
	slices.SortStableFunc(readers, func(a, b *reader) int { return a.user - b.user })
	e.readers.Store(&readers)
}

// now returns the readers of this moment in a list that never changes.
func (e *events) now() []*reader {
	if readers := e.readers.Load(); readers != nil {
		return *readers
	}
	return nil
}

// publish hands an event to all readers, or holds it back from those of SessionEvents.
func (e *events) publish(told Told, hold bool) {
	if e.silent {
		return
	}
	e.offer(e.ch, told.Event)
	for _, r := range e.remember(told.Event) {
		if told.User = r.user; hold {
			if !r.hold(told) && e.full != nil && told.Event.Type == zk.EventSession {
				e.full(r.user, told.Event)
			}
		} else {
			e.offer(r.ch, told.Event)
		}
	}
}

// remember keeps an event for later readers, and returns the present ones.
func (e *events) remember(event zk.Event) []*reader {
	e.mu.Lock()
	defer e.mu.Unlock()
	if event.Type == zk.EventSession {
		if event.State == zk.StateConnecting {
			e.latest = e.latest[:0]
		}
		e.latest = append(e.latest, event)
	}
	return e.now()
}

// offer sends an event, or drops it if there is no room, as go-zookeeper does. It reports whether somebody has taken it.
func (e *events) offer(ch chan zk.Event, event zk.Event) (taken bool) {
	select {
	case ch <- event:
		if taken = len(ch) == 0; taken {
			e.settle()
		}
	default:
	}
	return taken
}

// tell hands the oldest event that is held back from a reader to it.
func (e *events) tell(r *reader) (taken bool) {
	event := r.held[0].Event
	r.held = r.held[1:]
	return e.offer(r.ch, event)
}

// silence closes the channels. Readers of a process that has died get no more events.
func (e *events) silence(died bool) {
	e.mu.Lock()
	e.silent = true
	e.mu.Unlock()
	close(e.ch)
	for _, r := range e.now() {
		for len(r.held) > 0 && !died {
			e.tell(r)
		}
		r.held = nil
		close(r.ch)
		e.settle()
	}
}

// hold keeps an event if go-zookeeper's channel had room: for six, beside the one that a waiting reader takes.
func (r *reader) hold(told Told) bool {
	room := eventBuffer - len(r.ch)
	if len(r.ch) == 0 {
		room++
	}
	if len(r.held) >= room {
		return false
	}
	r.held = append(r.held, told)
	return true
}

// Readers returns how many channels hold something back: those that [Conn.SessionEvents] has returned, and behind them
// those in which something is late, see [Client.Stall].
func (c *Client) Readers() int { return len(c.events.now()) + len(c.stalls.late) }

// Late reports whether a reader is a channel of a stalled user. It is no reader any more when it has been told all.
func (c *Client) Late(reader int) bool { return reader >= len(c.events.now()) }

// lateAt is what is late in the channel that such a reader is.
func (c *Client) lateAt(reader int) *late { return &c.stalls.late[reader-len(c.events.now())] }

// Held returns how many events are held back from a reader, see [Client.HoldEvents].
func (c *Client) Held(reader int) int {
	if c.Late(reader) {
		return 1 + len(c.lateAt(reader).behind)
	}
	return len(c.events.now()[reader].held)
}

// HoldsAny reports whether events are held back from any reader, or anything is late.
func (c *Client) HoldsAny() bool {
	return len(c.stalls.late) > 0 || slices.ContainsFunc(c.events.now(), func(r *reader) bool { return len(r.held) > 0 })
}

// Oldest returns what a reader is told next.
func (c *Client) Oldest(reader int) Told {
	if c.Late(reader) {
		return c.lateAt(reader).Told
	}
	return c.events.now()[reader].held[0]
}

// Tell hands the oldest of what is held back from a reader to it. taken tells that a goroutine waited for an event.
func (c *Client) Tell(reader int) (taken bool) {
	if c.Late(reader) {
		c.tellLate(reader - len(c.events.now()))
		return false
	}
	return c.events.tell(c.events.now()[reader])
}
