package confirm

import (
	"slices"
	"sync"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/recipes"
)

// clientWatches makes the watches of a go-zookeeper client behave as those of the client library that a recipe was
// written for, as package fakezk does in simulation: see [goclient.ClientSemantics].
type clientWatches struct {
	semantics goclient.ClientSemantics

	mu    sync.Mutex
	armed []chan zk.Event // what recipes listen to, in the order in which they were set
}

// forgets reports whether watches are not set again when the client connects.
func (f *clientWatches) forgets() bool { return f.semantics == goclient.SemanticsKazoo }

// watchEvents is how many events of a connection's state wait for a recipe.
const watchEvents = 64

// wrap returns what a recipe gets for a watch's channel.
func (f *clientWatches) wrap(fired <-chan zk.Event) <-chan zk.Event {
	if f.semantics == goclient.SemanticsGo || fired == nil {
		return fired
	}
	told := make(chan zk.Event, watchEvents)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.armed = append(f.armed, told)
	go func() {
		e, ok := <-fired
		f.fire(told, e, ok)
	}()
	return told
}

// fire hands the last event to a watch that is still armed.
func (f *clientWatches) fire(told chan zk.Event, e zk.Event, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := slices.Index(f.armed, told)
	if i < 0 {
		return
	}
	f.armed = slices.Delete(f.armed, i, i+1)
	if ok {
		offer(told, e)
	}
	close(told)
}

// tell tells the watches of a change of the connection's state.
func (f *clientWatches) tell(state zk.State) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e := zk.Event{Type: zk.EventSession, State: state}
	switch {
	case f.semantics == goclient.SemanticsJava && (state == zk.StateDisconnected || state == zk.StateHasSession || state == zk.StateExpired):
		for _, told := range f.armed {
			offer(told, e)
		}
	case f.semantics == goclient.SemanticsKazoo && state == zk.StateDisconnected:
		for _, told := range f.armed {
			offer(told, e)
			close(told)
		}
		f.armed = nil
	}
}

// offer sends an event unless the channel is full.
func offer(to chan<- zk.Event, e zk.Event) {
	select {
	case to <- e:
	default:
	}
}

// watchedConn is a connection that gives out other channels for its watches.
type watchedConn struct {
	recipes.Wrapper
	wrap func(fired <-chan zk.Event) <-chan zk.Event
}

func (c *watchedConn) ChildrenW(path string) ([]string, *zk.Stat, <-chan zk.Event, error) {
	names, stat, watch, err := c.Conn.ChildrenW(path)
	return names, stat, c.wrap(watch), err
}

func (c *watchedConn) ExistsW(path string) (bool, *zk.Stat, <-chan zk.Event, error) {
	there, stat, watch, err := c.Conn.ExistsW(path)
	return there, stat, c.wrap(watch), err
}

func (c *watchedConn) GetW(path string) ([]byte, *zk.Stat, <-chan zk.Event, error) {
	data, stat, watch, err := c.Conn.GetW(path)
	return data, stat, c.wrap(watch), err
}
