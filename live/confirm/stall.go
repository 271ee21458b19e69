package confirm

import (
	"context"
	"errors"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim/world"
)

// In the simulation what comes for a stalled goroutine lies in its channel while the rest of the process goes on. Here
// it is held between go-zookeeper and the recipe, from the step in which it comes to that in which it is handed over.

// lying is a reply, or an event of a watch, that lies in its channel.
type lying struct {
	client, user int
	what         world.Lying
	came         bool          // it has; guarded by the replayer
	told         chan struct{} // closed when its goroutine may have it
}

// of reports whether it is what a line of the trace is about.
func (l *lying) of(s world.Step) bool {
	return l.client == s.Client && l.user == s.User && l.what == s.Lies
}

// layBy gets ready for what will lie in its channel from a step on, until a later one says that it is handed over.
func (r *replayer) layBy(i int) {
	number := r.trace[i].N
	for k := i; k < len(r.trace) && r.trace[k].N == number; k++ {
		s := r.trace[k]
		if s.Kind == world.KindFault && s.Lies.Comes() && r.handedOver(k) {
			r.mu.Lock()
			r.lying = append(r.lying, &lying{client: s.Client, user: s.User, what: s.Lies, told: make(chan struct{})})
			r.mu.Unlock()
		}
	}
}

// handedOver reports whether a later line hands over what begins to lie in its channel in a line.
func (r *replayer) handedOver(line int) bool {
	s := r.trace[line]
	return slices.ContainsFunc(r.trace[line+1:], func(later world.Step) bool {
		return later.Kind == world.KindHealed && later.Client == s.Client && later.User == s.User && later.Lies == s.Lies
	})
}

// comesLate waits until what lies in its channel has come.
func (r *replayer) comesLate(ctx context.Context, s world.Step) error {
	i := slices.IndexFunc(r.lying, func(l *lying) bool { return l.of(s) })
	if i >= 0 && !r.await(ctx, func() bool { return r.lying[i].came }) {
		return errors.New("it has not come")
	}
	return nil
}

// handOver lets a goroutine have what lies in its channel, and do what it does then before others do.
func (r *replayer) handOver(ctx context.Context, s world.Step) error {
	defer r.moment(ctx)
	if s.Lies.Context {
		r.round.Cancel(s.Client, s.User)
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.lying, func(l *lying) bool { return l.of(s) })
	if i < 0 {
		return errors.New("the reply or event is not there")
	}
	close(r.lying[i].told)
	r.lying = slices.Delete(r.lying, i, i+1)
	return nil
}

// cancelsLate reports whether those who wait for the end of an operation's context do not know of it, by the line after
// that in which it ends.
func (r *replayer) cancelsLate(line int) bool {
	return line+1 < len(r.trace) && r.trace[line+1].N == r.trace[line].N && r.trace[line+1].Lies.Context
}

// lies notes what has come for a user, and returns what waits until its goroutine may have it.
func (c *replayedConn) lies(what world.Lying) (wait func()) {
	r := c.incarnation.replayer
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.lying, func(l *lying) bool {
		return !l.came && l.client == c.incarnation.client && l.user == c.user && l.what.Op == what.Op &&
			l.what.Type == what.Type && samePath(l.what.Path, what.Path)
	})
	if r.released || i < 0 {
		return func() {}
	}
	l := r.lying[i]
	l.came = true
	r.stir()
	return func() {
		select {
		case <-l.told:
		case <-r.ctx.Done():
		}
	}
}

// late returns a connection for a user, if goroutines stall in the trace.
func (c *replayedConn) late(conn recipes.Conn) recipes.Conn {
	stalls := func(s world.Step) bool { return s.Fault == world.Stall }
	if !slices.ContainsFunc(c.incarnation.replayer.trace, stalls) {
		return conn
	}
	return &watchedConn{recipes.Wrapper{Conn: conn}, c.wrap}
}

// wrap returns what a recipe gets for a watch's channel: its events may lie there.
func (c *replayedConn) wrap(fired <-chan zk.Event) <-chan zk.Event {
	if fired == nil {
		return nil
	}
	told := make(chan zk.Event, watchEvents)
	go func() {
		defer close(told)
		for e := range fired {
			c.lies(world.Lying{Path: e.Path, Type: e.Type})()
			offer(told, e)
		}
	}()
	return told
}
