package bubble

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Context is the context of one operation. It ends for one goroutine after the other: the world waits for each to
// block again before it tells the next. A context of the standard library ends for all at once; the caller of a
// recipe and its background goroutines would then run at the same time, in the Go scheduler's order.
//
// Goroutines that wait for Done are told in the order in which they began to wait. Derived contexts end after this
// one, in the order in which they were derived; goroutines that wait for one of those are told together, because it
// is the standard library's.
//
// It may end late for those who wait: then it has ended for whoever asks from then on, and [opContext.end] tells the others.
type Context struct {
	done  chan struct{}
	ended atomic.Bool
	told  bool          // who waits knows; the loop's
	late  chan struct{} // closed, if it has ended and who waits is not told yet

	mu    sync.Mutex
	after []*afterFunc
}

type afterFunc struct {
	f     func()
	owner uint64 // of who has derived a context
}

// NewContext returns a context that has not ended.
func NewContext() *Context { return &Context{done: make(chan struct{})} }

// Deadline implements [context.Context]; there is none.
func (c *Context) Deadline() (deadline time.Time, ok bool) { return }

// Done implements [context.Context].
func (c *Context) Done() <-chan struct{} {
	if c.ended.Load() && c.late != nil {
		return c.late
	}
	return c.done
}

// Value implements [context.Context]; there are none.
func (c *Context) Value(any) any { return nil }

// Err implements [context.Context].
func (c *Context) Err() error {
	if c.ended.Load() {
		return context.Canceled
	}
	return nil
}

// AfterFunc is how package context derives a context from one that is not its own, see [context.AfterFunc].
func (c *Context) AfterFunc(f func()) (stop func() bool) {
	owner, _ := callers()
	a := &afterFunc{f, owner}
	c.mu.Lock()
	c.after = append(c.after, a)
	c.mu.Unlock()
	return func() bool { return c.forget(a) }
}

func (c *Context) forget(a *afterFunc) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := len(c.after)
	c.after = slices.DeleteFunc(c.after, func(b *afterFunc) bool { return a == b })
	return len(c.after) < before
}

// waitersMax is how many goroutines are told one by one. It bounds the loop for one that waits for Done again and
// again without looking at Err.
const waitersMax = 32

// EndLate ends the context and tells no goroutine that waits.
func (c *Context) EndLate() {
	c.late = make(chan struct{})
	close(c.late)
	c.ended.Store(true)
}

// IsLate reports whether goroutines that wait have to be told yet.
func (c *Context) IsLate() bool { return c.ended.Load() && !c.told }

// End ends the context. settle waits until whoever was told has blocked again.
func (c *Context) End(settle func()) {
	c.ended.Store(true)
	if c.told {
		return
	}
	c.told = true
	told := 0
	for ; told < waitersMax && c.tellOne(); told++ {
		settle()
	}
	close(c.done)
	if told == waitersMax {
		settle()
	}
	for a := c.nextAfter(); a != nil; a = c.nextAfter() {
		As(a.owner, a.f)
		settle()
	}
}

// As calls a function as an owner's code.
func As(owner uint64, f func()) {
	own, _ := callers()
	defer Own(own)
	Own(owner)
	f()
}

// tellOne wakes the goroutine that has waited longest, and returns false if none waits: a send reaches one receiver.
func (c *Context) tellOne() bool {
	select {
	case c.done <- struct{}{}:
		return true
	default:
		return false
	}
}

func (c *Context) nextAfter() *afterFunc {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.after) == 0 {
		return nil
	}
	a := c.after[0]
	c.after = c.after[1:]
	return a
}
