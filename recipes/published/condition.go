package published

import "context"

// condition is a Java object as threads use it: a monitor that one of them at a time is inside, and
// those that wait in it. A notification wakes who waits at that moment and is forgotten.
type condition struct {
	monitor
	waiting []chan struct{} // the longest first; only used inside the monitor
}

func newCondition() *condition { return &condition{monitor: newMonitor()} }

// wait leaves the monitor, waits to be notified and enters it again.
func (c *condition) wait(ctx context.Context) (err error) {
	self := make(chan struct{})
	c.waiting = append(c.waiting, self)
	<-c.monitor
	select {
	case <-self:
	case <-ctx.Done():
		err = ctx.Err()
	}
	c.monitor <- struct{}{}
	for i, waiting := range c.waiting {
		if waiting == self {
			c.waiting = append(c.waiting[:i], c.waiting[i+1:]...)
			break
		}
	}
	return err
}

// notify wakes the one that has waited longest.
func (c *condition) notify() {
	if len(c.waiting) > 0 {
		close(c.waiting[0])
		c.waiting = c.waiting[1:]
	}
}

// notifyAll wakes all that wait.
func (c *condition) notifyAll() {
	for len(c.waiting) > 0 {
		c.notify()
	}
}
