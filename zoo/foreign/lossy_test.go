package foreign

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk/fakezktest"
	"github.com/zktorture/zktorture/fakezk/server"
	"github.com/zktorture/zktorture/workload"
)

// Requests, by their numbers in ZooKeeper's protocol.
const (
	opGetData     = 4
	opSetData     = 5
	opGetChildren = 12
)

// loser loses the reply to the first request of a kind: the connection ends when it has come.
type loser struct {
	op   uint32
	lost atomic.Bool
}

func (l *loser) dial(network, address string, timeout time.Duration) (net.Conn, error) {
	c, err := net.DialTimeout(network, address, timeout)
	return &lossy{Conn: c, of: l}, err
}

type lossy struct {
	net.Conn
	of     *loser
	doomed atomic.Bool
}

func (c *lossy) Write(frame []byte) (int, error) {
	if len(frame) >= 12 && binary.BigEndian.Uint32(frame[8:]) == c.of.op && c.of.lost.CompareAndSwap(false, true) {
		c.doomed.Store(true)
	}
	return c.Conn.Write(frame)
}

func (c *lossy) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.doomed.Load() {
		c.Conn.Close()
		return 0, io.EOF
	}
	return n, err
}

// A Lock that fails leaves its znode, and the next one says why it cannot work any more, or waits for ever: two ways of
// each recipe that are stories of their own, and that the smallest story does not tell apart.
func TestLockThatFailsIsKept(t *testing.T) {
	servers := fakezktest.Start(t, server.Config{})
	for _, test := range []struct {
		recipe string
		lost   uint32 // the request whose reply is lost
		below  string // where the queue is
		again  string // what the next Lock says
	}{
		{"go-zookeeper", opGetChildren, "", "context deadline exceeded"},
		{"vault", opGetData, "/_lock", "lock already held"},
		{"valkeyrie", opSetData, "", zk.ErrDeadlock.Error()},
	} {
		t.Run(test.recipe, func(t *testing.T) {
			conn := connectBy(t, servers.Addr(0), (&loser{op: test.lost}).dial)
			recipe, _ := Find("lock", test.recipe)
			lock := recipe.New(conn, "/"+test.recipe).(workload.Locker)
			if err := lock.Lock(t.Context()); !errors.Is(err, zk.ErrConnectionClosed) {
				t.Fatalf("the reply is not lost: %v", err)
			}
			children, _, err := connectBy(t, servers.Addr(0), net.DialTimeout).Children("/" + test.recipe + test.below)
			if err != nil || len(children) != 1 || !strings.Contains(children[0], "lock-") {
				t.Errorf("its znode is not left: %v %v", children, err)
			}
			if err := inTime(lock.Lock); err == nil || err.Error() != test.again {
				t.Errorf("the next Lock says %v, not %s", err, test.again)
			}
		})
	}
}

// inTime ends what a recipe does not.
func inTime(lock func(context.Context) error) error {
	done := make(chan error, 1)
	go func() { done <- lock(context.Background()) }()
	select {
	case err := <-done:
		return err
	case <-time.After(5 * time.Second):
		return context.DeadlineExceeded
	}
}
