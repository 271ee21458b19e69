package workload_test

import (
	"context"
	"errors"
	"strconv"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// newCounter is the project's own counter, for broken ones to build on.
func newCounter(c recipes.Conn) *recipes.Counter { return recipes.NewCounter(c, "/t/counter") }

// headlong is a counter as it is written everywhere: read, write on condition of the version, and
// again if that fails for whatever reason.
type headlong struct {
	conn      recipes.Conn
	unguarded bool // writes without the condition
}

const headlongPath = "/t/counter/number"

func (h headlong) Add(ctx context.Context, delta int64) (int64, error) {
	for ctx.Err() == nil {
		number, version, err := h.read()
		if err != nil {
			continue
		}
		if h.unguarded {
			version = -1
		}
		sum := number + delta
		if _, err := h.conn.Set(headlongPath, []byte(strconv.FormatInt(sum, 10)), version); err == nil {
			return sum, nil
		}
	}
	return 0, ctx.Err()
}

func (h headlong) Get(ctx context.Context) (int64, error) {
	for ctx.Err() == nil {
		h.conn.Sync(headlongPath)
		if number, _, err := h.read(); err == nil {
			return number, nil
		}
	}
	return 0, ctx.Err()
}

func (h headlong) read() (number int64, version int32, err error) {
	data, stat, err := h.conn.Get(headlongPath)
	if errors.Is(err, zk.ErrNoNode) {
		h.conn.Create("/t/counter", nil, 0, openACL)
		h.conn.Create(headlongPath, []byte("0"), 0, openACL)
	}
	if err != nil {
		return 0, 0, err
	}
	number, err = strconv.ParseInt(string(data), 10, 64)
	return number, stat.Version, err
}

// A counter that adds again after a lost reply counts twice (bugs C1 and C2).
func TestLostReplyCountsTwice(t *testing.T) {
	w := workload.Counter(func(c recipes.Conn, _ string) workload.Adder { return headlong{conn: c} })
	wantClean(t, w, world.NoFaults)
	wantBroken(t, w, world.Loss, "counted-twice", "an addition took effect more than once: c")
}

func TestUnconditionalWriteLosesUpdates(t *testing.T) {
	w := workload.Counter(func(c recipes.Conn, _ string) workload.Adder { return headlong{conn: c, unguarded: true} })
	wantBroken(t, w, world.NoFaults, "lost-update", "an addition did not last: c")
}

// quick answers from whichever server it is connected to (bug C9).
type quick struct {
	*recipes.Counter
	headlong
}

func (q quick) Add(ctx context.Context, delta int64) (int64, error) { return q.Counter.Add(ctx, delta) }

func (q quick) Get(context.Context) (int64, error) {
	data, _, err := q.conn.Get("/t/counter/value")
	if errors.Is(err, zk.ErrNoNode) {
		return 0, nil
	}
	number, _ := strconv.ParseInt(string(data), 10, 64)
	return number, err
}

func TestStaleGet(t *testing.T) {
	w := workload.Counter(func(c recipes.Conn, _ string) workload.Adder {
		return quick{newCounter(c), headlong{conn: c}}
	})
	wantClean(t, w, world.Pause|world.Time)
	wantBroken(t, w, world.Lag, "stale-get", "did not have then: c")
}

// concealing says of an addition that may have happened that it has failed.
type concealing struct{ *recipes.Counter }

func (c concealing) Add(ctx context.Context, delta int64) (int64, error) {
	sum, err := c.Counter.Add(ctx, delta)
	if errors.Is(err, recipes.ErrUnknownOutcome) {
		err = errors.New("out of luck")
	}
	return sum, err
}

func TestUndeclaredAddition(t *testing.T) {
	w := workload.Counter(func(c recipes.Conn, _ string) workload.Adder { return concealing{newCounter(c)} })
	wantBroken(t, w, world.Cancel, "undeclared", `and then failed with "out of luck"`)
}
