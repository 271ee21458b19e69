// Package broken has a lock and a queue that are broken on purpose, for tests. They are known by the name "broken".
package broken

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/workload"
)

func init() {
	named := []workload.Option{workload.Named("broken"), workload.Existing()}
	err := workload.Register(
		&workload.Kind{Name: "lock", KnownBugs: []workload.Entry{{Recipe: "broken", New: func() *workload.Workload {
			return workload.Lock(NewLock, named...)
		}}}},
		&workload.Kind{Name: "queue", KnownBugs: []workload.Entry{{Recipe: "broken", New: func() *workload.Workload {
			return workload.Queue(NewQueue, named...)
		}}}})
	if err != nil {
		panic(err)
	}
}

// lock is that of ZooKeeper 3.4.6 in short. Waiters queue by session before sequence, two users of a session take each
// other's znode for their own, who watches a znode that has gone waits for ever, who gives up stays in the queue, and who
// has got the lock takes it for its own until it releases it.
type lock struct {
	conn     recipes.Conn
	path, id string
	held     bool
}

// NewLock returns a broken lock.
func NewLock(conn recipes.Conn, path string) workload.Locker { return &lock{conn: conn, path: path} }

func (l *lock) Lock(ctx context.Context) error {
	if err := l.join(); err != nil {
		return err
	}
	for {
		names, _, err := l.conn.Children(l.path)
		if err != nil {
			return err
		}
		slices.Sort(names)
		i := slices.Index(names, l.id)
		if i <= 0 {
			l.held = true
			return nil
		}
		_, _, gone, err := l.conn.ExistsW(l.path + "/" + names[i-1])
		if err != nil {
			return err
		}
		select {
		case <-gone:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (l *lock) join() error {
	if err := ensure(l.conn, l.path); err != nil {
		return err
	}
	prefix := fmt.Sprintf("x-%d-", l.conn.SessionID())
	names, _, err := l.conn.Children(l.path)
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(names, func(name string) bool { return strings.HasPrefix(name, prefix) }); i >= 0 {
		l.id = names[i]
		return nil
	}
	made, err := l.conn.Create(l.path+"/"+prefix, nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
	l.id = strings.TrimPrefix(made, l.path+"/")
	return err
}

func (l *lock) Unlock(context.Context) error {
	l.held = false
	return l.conn.Delete(l.path+"/"+l.id, -1)
}

func (l *lock) IsOwner() bool { return l.held }

// queue takes what may have happened for what has not: an offer is repeated, and so is the removal of an item, of which
// another one is then taken.
type queue struct {
	conn recipes.Conn
	path string
}

// NewQueue returns a broken queue.
func NewQueue(conn recipes.Conn, path string) workload.Queuer { return &queue{conn, path} }

func (q *queue) Offer(_ context.Context, data []byte) error {
	err := ensure(q.conn, q.path)
	if err != nil {
		return err
	}
	return insist(func() error {
		_, err := q.conn.Create(q.path+"/qn-", data, zk.FlagSequence, zk.WorldACL(zk.PermAll))
		return err
	})
}

func (q *queue) Poll(context.Context) ([]byte, error) {
	names, _, err := q.conn.Children(q.path)
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return nil, err
	}
	slices.Sort(names)
	for _, name := range names {
		data, _, err := q.conn.Get(q.path + "/" + name)
		if err == nil {
			err = insist(func() error { return q.conn.Delete(q.path+"/"+name, -1) })
		}
		if !errors.Is(err, zk.ErrNoNode) {
			return data, err
		}
	}
	return nil, recipes.ErrEmpty
}

// insist repeats a request until it is answered, but not for ever.
func insist(do func() error) (err error) {
	for range 10 {
		if err = do(); !errors.Is(err, zk.ErrConnectionClosed) {
			break
		}
	}
	return err
}

func ensure(conn recipes.Conn, path string) error {
	if there, _, err := conn.Exists(path); err != nil || there {
		return err
	}
	_, err := conn.Create(path, nil, zk.FlagPersistent, zk.WorldACL(zk.PermAll))
	if errors.Is(err, zk.ErrNodeExists) {
		return nil
	}
	return err
}

// tiring is a correct counter until one of its users adds for the last time.
type tiring struct {
	*recipes.Counter
	left int // additions until then
}

// NewTiring makes counters whose answer to a user's addition of this number, from 1, is wrong.
func NewTiring(addition int) func(recipes.Conn, string) workload.Adder {
	return func(c recipes.Conn, path string) workload.Adder {
		return &tiring{recipes.NewCounter(c, path), addition}
	}
}

func (c *tiring) Add(ctx context.Context, delta int64) (int64, error) {
	sum, err := c.Counter.Add(ctx, delta)
	if c.left--; c.left == 0 {
		sum++
	}
	return sum, err
}
