package confirm

import (
	"slices"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/sim/world"
)

// stalled is a line about what lies in a channel of the first client's second user, or is handed over.
func stalled(n int, kind world.Kind, what world.Lying) world.Step {
	return world.Step{N: n, Detail: world.Detail{Kind: kind, Fault: world.Stall, User: 1, Lies: what}}
}

// What lies in its channel is had by its goroutine in the step that hands it over, and not before; what nothing hands
// over, and what comes for others, at once.
func TestWhatLiesInItsChannel(t *testing.T) {
	reply, event := world.Lying{Op: "get", Path: "/t/a"}, world.Lying{Path: "/t/a", Type: zk.EventNodeDeleted}
	r := &replayer{ctx: t.Context(), changed: make(chan struct{}), trace: []world.Step{
		{N: 1}, stalled(1, world.KindFault, reply), stalled(1, world.KindFault, event),
		stalled(1, world.KindFault, world.Lying{Op: "exists", Path: "/t/a"}),
		stalled(2, world.KindHealed, reply), stalled(3, world.KindHealed, event),
	}}
	p := &incarnation{replayer: r}
	mine, other := &replayedConn{incarnation: p, user: 1}, &replayedConn{incarnation: p}
	r.layBy(0)
	other.lies(reply)()
	mine.lies(world.Lying{Op: "get", Path: "/t/a/b"})()
	mine.lies(world.Lying{Op: "exists", Path: "/t/a"})()

	var order []string
	had := make(chan struct{})
	wait := mine.lies(reply)
	go func() {
		wait()
		order = append(order, "had")
		close(had)
	}()
	fired := make(chan zk.Event, 1)
	told := mine.wrap(fired)
	fired <- zk.Event{Type: zk.EventNodeDeleted, Path: "/t/a"}
	close(fired)
	for _, s := range r.trace[1:4] {
		if err := r.comesLate(testkit.Context(t), s); err != nil {
			t.Errorf("%+v: %v", s.Lies, err)
		}
	}
	order = append(order, "handed over")
	if err := r.handOver(t.Context(), r.trace[4]); err != nil {
		t.Fatal(err)
	}
	if <-had; !slices.Equal(order, []string{"handed over", "had"}) {
		t.Errorf("the reply was %q", order)
	}
	wants(t, told)
	if err := r.handOver(t.Context(), r.trace[5]); err != nil {
		t.Fatal(err)
	}
	if e := <-told; e.Type != zk.EventNodeDeleted {
		t.Error(e)
	}
	if _, open := <-told; open {
		t.Error("the watch is still armed after its event")
	}
	if err := r.handOver(t.Context(), r.trace[5]); err == nil {
		t.Error("it was handed over twice")
	}
}

// What lies in its channel when clients go on freely is had at once.
func TestFreeEndsStalls(t *testing.T) {
	reply := world.Lying{Op: "get", Path: "/t/a"}
	r := &replayer{ctx: t.Context(), trace: []world.Step{
		stalled(1, world.KindFault, reply), stalled(2, world.KindHealed, reply),
	}, changed: make(chan struct{})}
	c := &replayedConn{incarnation: &incarnation{replayer: r}, user: 1}
	r.layBy(0)
	wait := c.lies(reply)
	r.release()
	wait()
	r.layBy(0)
	c.lies(reply)()
}
