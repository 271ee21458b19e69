package published

import (
	"context"
	"slices"
	"sync"
)

// monitor is held across calls to ZooKeeper. It is a channel because goroutines that wait for a
// sync.Mutex do not count as blocked in a simulation (testing/synctest).
type monitor chan struct{}

func newMonitor() monitor { return make(monitor, 1) }

// enter returns the function that leaves.
func (m monitor) enter() func() {
	m <- struct{}{}
	return func() { <-m }
}

// condition is a Java object as threads use it: a monitor that one of them at a time is inside, and
// those that wait in it. A notification wakes who waits at that moment and is forgotten.
type condition struct {
	monitor
	mu      sync.Mutex      // never held for long
	waiting []chan struct{} // the longest first
}

func newCondition() *condition { return &condition{monitor: newMonitor()} }

// wait leaves the monitor, waits to be notified and enters it again.
func (c *condition) wait(ctx context.Context) (err error) {
	self := make(chan struct{})
	c.mu.Lock()
	c.waiting = append(c.waiting, self)
	c.mu.Unlock()
	<-c.monitor
	select {
	case <-self:
	case <-ctx.Done():
		c.forget(self)
		err = ctx.Err()
	}
	c.monitor <- struct{}{}
	return err
}

// forget leaves out one who waits no longer.
func (c *condition) forget(self chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = slices.DeleteFunc(c.waiting, func(w chan struct{}) bool { return w == self })
}

// notify wakes the one that has waited longest, and tells whether there was one.
func (c *condition) notify() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.waiting) == 0 {
		return false
	}
	close(c.waiting[0])
	c.waiting = c.waiting[1:]
	return true
}

// notifyAll wakes all that wait.
func (c *condition) notifyAll() {
	for c.notify() {
	}
}
