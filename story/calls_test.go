package story_test

import (
	"context"
	"errors"
	"path"
	"slices"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// byName is a lock of the one whose name, a random one, is the first, or of who has asked for the other.
type byName struct {
	conn      recipes.Conn
	path, own string
	asks      bool
}

func (l *byName) Lock(ctx context.Context) (err error) {
	l.conn.Create(l.path, nil, 0, zk.WorldACL(zk.PermAll))
	if l.own, err = l.conn.CreateProtectedEphemeralSequential(l.path+"/x-", nil, zk.WorldACL(zk.PermAll)); err != nil {
		return err
	}
	for {
		names, _, changed, err := l.conn.ChildrenW(l.path) // the list
		if l.asks && len(names) == 2 {
			_, _, err = l.conn.Exists(l.path + "/" + names[slices.Index(names, path.Base(l.own))^1]) // the answer
			return err
		}
		if err != nil || l.own == l.path+"/"+slices.Min(names) {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (l *byName) Unlock(context.Context) error { return l.conn.Delete(l.own, -1) }

// thief is a lock that is deleted by whoever gives up.
type thief struct {
	conn recipes.Conn
	path string
}

func (l thief) Lock(ctx context.Context) error {
	_, err := l.conn.Create(l.path, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
	if err != nil {
		l.Unlock(ctx)
	}
	return err
}

func (l thief) Unlock(context.Context) error { return l.conn.Delete(l.path, -1) } // the theft

// blind is a queue that does not heed whether its delete has deleted.
type blind struct {
	conn recipes.Conn
	path string
}

func (q blind) Offer(_ context.Context, data []byte) error {
	q.conn.Create(q.path, nil, 0, zk.WorldACL(zk.PermAll))
	_, err := q.conn.Create(q.path+"/x-", data, zk.FlagSequence, zk.WorldACL(zk.PermAll))
	return err
}

func (q blind) Poll(context.Context) ([]byte, error) {
	names, _, err := q.conn.Children(q.path)
	if len(names) == 0 {
		return nil, errors.Join(err, recipes.ErrEmpty)
	}
	first := q.path + "/" + slices.Min(names)
	data, _, err := q.conn.Get(first)
	q.conn.Delete(first, -1) // unheeded
	return data, err
}

// Where no fault is to blame, what has not been heeded is told, with its line and what helps.
func TestWhatCallsDo(t *testing.T) {
	for _, of := range []struct {
		workload                  *workload.Workload
		property, mechanism, line string
	}{
		{workload.Lock(func(c recipes.Conn, path string) workload.Locker { return &byName{conn: c, path: path} }), "exclusion", "misread-order", "// the list"},
		{workload.Lock(func(c recipes.Conn, path string) workload.Locker { return &byName{conn: c, path: path, asks: true} }), "exclusion", "calls", "// the answer"},
		{workload.Lock(func(c recipes.Conn, path string) workload.Locker { return thief{c, path} }), "exclusion", "foreign-delete", "// the theft"},
		{workload.Queue(func(c recipes.Conn, path string) workload.Queuer { return blind{c, path} }), "duplicate", "missed-delete", "// unheeded"},
	} {
		c := caught(t, of.workload, sim.Config{Seed: 1, Faults: world.NoFaults, Until: of.property})
		r, err := sim.Replay(of.workload, c)
		if err != nil {
			t.Fatal(err)
		}
		s := newStory(t, of.workload, c, r)
		if s.Cause == nil || string(s.Cause.Mechanism) != of.mechanism || s.Cause.Event < 0 || s.Cause.Text == "" && of.mechanism != "calls" {
			t.Fatalf("%s: the cause is %+v, want %s", of.property, s.Cause, of.mechanism)
		}
		if want := lineIn(t, "calls_test.go", of.line); s.Events[s.Cause.Event].Code != want {
			t.Errorf("%s: %q decides, want %s", of.mechanism, s.Events[s.Cause.Event].Code, want)
		}
	}
}
