package goclient

import (
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk/goclient/parked"
)

// Told is what a goroutine of a user is told by its client: a reply, or an event.
type Told struct {
	User  int
	Call  *Call    // whose reply it is; nil for an event
	Err   error    // the call's
	Event zk.Event // of the connection, or of a watch
	Knew  Knowledge
}

// Knowledge is what a client knew of its session when it learned something.
type Knowledge struct {
	Session  int64 // 0 if it had none
	Expiries int   // of how many sessions it had learned that they were gone
}

// late is what lies in a channel at which a goroutine of a stalled user waits: a reply, or events of a watch.
type late struct {
	Told          // the oldest
	watch  watch  // of events
	behind []Told // it
	ends   bool   // the channel is closed with the last of them
}

// stalls are whose goroutines do not run, and what is late for them, in the order in which it came.
type stalls struct {
	users []int
	late  []late
}

// behind puts an event behind earlier ones of its watch that are late. It is false if there are none.
func (s *stalls) behind(l late) bool {
	i := slices.IndexFunc(s.late, func(o late) bool { return o.Call == nil && o.watch.ch == l.watch.ch })
	if i >= 0 {
		s.late[i].behind, s.late[i].ends = append(s.late[i].behind, l.Told), l.ends
	}
	return i >= 0
}

// next takes the oldest of what is late in one channel.
func (s *stalls) next(i int) late {
	l := s.late[i]
	if len(l.behind) > 0 {
		s.late[i].Told, s.late[i].behind = l.behind[0], l.behind[1:]
	} else {
		s.late = slices.Delete(s.late, i, i+1)
	}
	return l
}

// Stall keeps what comes from now on for the goroutines of a user in the channels at which they wait: they do not
// run, while others do. [Client.Tell] lets them have it, one thing at a time. Of watches this holds only where a
// goroutine waits at the channel: elsewhere who looks finds the event at once.
func (c *Client) Stall(user int) { c.stalls.users = append(c.stalls.users, user) }

// Stalled reports whether a user's goroutines are stalled.
func (c *Client) Stalled(user int) bool { return slices.Contains(c.stalls.users, user) }

// StallsAny reports whether any user's are.
func (c *Client) StallsAny() bool { return len(c.stalls.users) > 0 }

// EndStalls tells all that is late, in the order in which it came.
func (c *Client) EndStalls() {
	for len(c.stalls.late) > 0 {
		c.tellLate(0)
	}
	c.stalls.users = nil
}

// LetLie leaves events in the channels at which nobody waits any more, to be found by whoever looks there next.
func (c *Client) LetLie() {
	c.stalls.late = slices.DeleteFunc(c.stalls.late, func(l late) bool {
		if l.Call != nil || parked.At(l.watch.ch) {
			return false
		}
		for _, told := range append([]Told{l.Told}, l.behind...) {
			l.watch.tell(told.Event)
		}
		if l.ends {
			close(l.watch.ch)
		}
		return true
	})
}

// delay keeps a reply or an event for a stalled user. It is false if it has to be handed over now.
func (c *Client) delay(l late) bool {
	if !c.Stalled(l.User) || c.killed.Load() {
		return false
	}
	l.Knew = c.knowledge()
	if l.Call == nil && c.stalls.behind(l) {
		return true
	}
	if l.Call == nil && !parked.At(l.watch.ch) {
		return false
	}
	c.stalls.late = append(c.stalls.late, l)
	if c.OnLate != nil {
		c.OnLate(l.Told)
	}
	return true
}

func (c *Client) knowledge() Knowledge { return Knowledge{c.session.Load(), c.expiries} }

// tellLate hands over the oldest of what is late in one channel.
func (c *Client) tellLate(i int) {
	l := c.stalls.next(i)
	if l.Call != nil {
		c.finish(l.Call, l.Err)
		return
	}
	c.inform(l.watch, l.Event, l.ends && len(l.behind) == 0)
}

// forgetLate is what the death of a process does to what is late: calls and watches wait again for their end.
func (c *Client) forgetLate() {
	all := c.stalls.late
	c.stalls = stalls{}
	for _, l := range all {
		if l.Call != nil {
			c.waiting = append(c.waiting, l.Call)
		} else if l.ends {
			c.watches = append(c.watches, l.watch)
		}
	}
}
