package published

import (
	"context"
	"slices"
	"sync"
)

// monitor is held across calls to ZooKeeper, so it is no sync.Mutex: goroutines that wait for one do not count as
// blocked in a simulation (testing/synctest). It goes to the one that has waited longest, and first to those that
// were inside and have been notified: so it does not matter whether one that leaves comes back before or after the
// next notification.
type monitor struct {
	mu      sync.Mutex // never held for long
	held    bool
	woken   []chan struct{} // closed when the monitor is theirs
	waiting []chan struct{} // likewise
}

func newMonitor() *monitor { return new(monitor) }

// enter returns the function that leaves.
func (m *monitor) enter() (leave func()) {
	m.mu.Lock()
	self := m.queue()
	m.mu.Unlock()
	<-self
	return m.leave
}

// queue joins those that wait for the monitor; mu is held.
func (m *monitor) queue() chan struct{} {
	self := make(chan struct{})
	if m.held {
		m.waiting = append(m.waiting, self)
	} else {
		m.held = true
		close(self)
	}
	return self
}

func (m *monitor) leave() {
	m.mu.Lock()
	defer m.mu.Unlock()
	queue := &m.waiting
	if len(m.woken) > 0 {
		queue = &m.woken
	}
	if m.held = len(*queue) > 0; m.held {
		close((*queue)[0])
		*queue = (*queue)[1:]
	}
}

// condition is a Java object as threads use it: a monitor that one of them at a time is inside, and those that wait
// in it. A notification moves a waiter of that moment to those that wait for the monitor, and is forgotten.
type condition struct {
	*monitor
	asleep []chan struct{} // the longest first; guarded by monitor.mu
}

func newCondition() *condition { return &condition{monitor: newMonitor()} }

// wait leaves the monitor, waits to be notified and enters it again.
func (c *condition) wait(ctx context.Context) error {
	self := make(chan struct{})
	c.mu.Lock()
	c.asleep = append(c.asleep, self)
	c.mu.Unlock()
	c.leave()
	select {
	case <-self:
		return nil
	case <-ctx.Done():
	}
	<-c.giveUp(self)
	return ctx.Err()
}

// giveUp ends the wait for a notification, and returns what to wait for instead: to be inside.
func (c *condition) giveUp(self chan struct{}) (inside chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.Index(c.asleep, self)
	if i < 0 { // notified meanwhile
		return self
	}
	c.asleep = slices.Delete(c.asleep, i, i+1)
	return c.queue()
}

// notify wakes the one that has waited longest, and reports whether there was one. It is called inside the monitor.
func (c *condition) notify() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.asleep) == 0 {
		return false
	}
	c.woken = append(c.woken, c.asleep[0])
	c.asleep = c.asleep[1:]
	return true
}

// notifyAll wakes all that wait.
func (c *condition) notifyAll() {
	for c.notify() {
	}
}
