package workload_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// accused wants a property broken within 3000 episodes.
func accused(t *testing.T, w *workload.Workload, faults world.Faults, property string) {
	t.Helper()
	r := campaign(t, w, sim.Config{Episodes: 3000, Until: property, Seed: 1, Faults: faults, NoFaultsAtAll: true,
		NoShrink: true})
	if r.Verdict != sim.VerdictViolation {
		t.Errorf("under %v: %s (%s), want %s broken", faults, r.Verdict, r.Reason, property)
	}
}

// hasty is a priority queue that is wrong where a test makes it so; else it is right as long as no
// connection breaks.
type hasty struct {
	conn    recipes.Conn
	list    func(q *hasty) ([]string, error)
	name    func(priority int32) string
	pending []string // listed before, and not tried yet
	hoards  bool     // uses up a list before it reads another
}

func plainName(priority int32) string { return "i-" + string(rune('m'+priority)) + "-" }

func (q *hasty) Offer(_ context.Context, priority int32, data []byte) error {
	_, err := q.conn.Create("/t/priorityqueue/"+q.name(priority), data, zk.FlagSequence, zk.WorldACL(zk.PermAll))
	return err
}

func (q *hasty) Poll(context.Context) ([]byte, error) {
	for {
		if len(q.pending) == 0 || !q.hoards {
			names, err := q.list(q)
			if err != nil {
				return nil, err
			}
			slices.Sort(names)
			q.pending = names
		}
		if len(q.pending) == 0 {
			return nil, recipes.ErrEmpty
		}
		path := "/t/priorityqueue/" + q.pending[0]
		q.pending = q.pending[1:]
		data, _, err := q.conn.Get(path)
		if err == nil {
			err = q.conn.Delete(path, -1)
		}
		if !errors.Is(err, zk.ErrNoNode) {
			return data, err
		}
	}
}

func synced(q *hasty) ([]string, error) {
	q.conn.Sync("/t/priorityqueue")
	return stale(q)
}

func stale(q *hasty) ([]string, error) {
	names, _, err := q.conn.Children("/t/priorityqueue")
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	return names, err
}

func TestBrokenPriorityQueues(t *testing.T) {
	queue := func(change func(q *hasty)) *workload.Workload {
		return workload.PriorityQueue(func(c recipes.Conn, _ string) workload.PriorityQueuer {
			q := &hasty{conn: c, list: synced, name: plainName}
			change(q)
			return rooted{q}
		})
	}
	for name, test := range map[string]struct {
		change   func(q *hasty)
		faults   world.Faults
		property string
	}{
		"uses up its list (Q2)": {func(q *hasty) { q.hoards = true }, world.NoFaults, "order"},
		"sorts texts": {func(q *hasty) {
			q.name = func(priority int32) string { return "i-" + strconv.Itoa(int(priority)) + "-" }
		}, world.NoFaults, "order"},
		"does not sync": {func(q *hasty) { q.list = stale }, world.Lag, "false-empty"},
		"loses replies": {func(*hasty) {}, world.Loss, "lost"},
	} {
		t.Run(name, func(t *testing.T) { accused(t, queue(test.change), test.faults, test.property) })
	}
	t.Run("nothing", func(t *testing.T) {
		wantClean(t, queue(func(*hasty) {}), world.Watch|world.Time)
	})
}

// rooted makes the directory that a hasty queue takes for granted.
type rooted struct{ *hasty }

func (r rooted) Offer(ctx context.Context, priority int32, data []byte) error {
	for range 9 {
		if err := r.hasty.Offer(ctx, priority, data); !errors.Is(err, zk.ErrNoNode) {
			return err
		}
		r.conn.Create("/t/priorityqueue", nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
	}
	return zk.ErrConnectionClosed
}
