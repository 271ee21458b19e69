package foreign

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/live/ensemble"
	"github.com/zktorture/zktorture/live/ensemble/ensembletest"
	"github.com/zktorture/zktorture/workload"
)

const opExists = 3

// What was found in simulation of byteway's lock and needs luck on real servers is made to happen there. It needs Java.
func TestBytewayOnRealServers(t *testing.T) {
	if testing.Short() {
		t.Skip("real servers are not started in short tests")
	}
	servers, err := ensemble.Start(t.Context(), ensembletest.Options(1))
	if err != nil {
		t.Fatal(err)
	}
	defer servers.Stop()
	t.Run("cancelled", func(t *testing.T) { cancelledLock(t, servers.ConnectString()) })
	t.Run("expired", func(t *testing.T) { expiredWaiter(t, servers.ConnectString()) })
}

// Who is cancelled between the create and the list never returns, and nobody else gets the lock.
func cancelledLock(t *testing.T, server string) {
	ctx, cancel := context.WithCancel(t.Context())
	g := &gate{before: func(op uint32) {
		if op == opGetChildren {
			cancel()
			time.Sleep(2 * time.Second) // for the goroutine that watches the context
		}
	}}
	first, second := bytewayAt(t, server, g, "/cancelled"), bytewayAt(t, server, &gate{}, "/cancelled")
	if err := inTime(func(context.Context) error { return first.Lock(ctx) }); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the cancelled Lock has returned: %v", err)
	}
	if err := inTime(second.Lock); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the next Lock has returned: %v", err)
	}
}

// A waiter whose session expires while it cannot reach the servers gets the lock that another one holds.
func expiredWaiter(t *testing.T, server string) {
	waits := make(chan struct{})
	asked := sync.OnceFunc(func() { close(waits) })
	g := &gate{before: func(op uint32) {
		if op == opExists {
			asked()
		}
	}}
	holder, waiter := bytewayAt(t, server, &gate{}, "/expired"), bytewayAt(t, server, g, "/expired")
	if err := holder.Lock(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := make(chan error, 1)
	go func() { got <- waiter.Lock(t.Context()) }()
	<-waits
	time.Sleep(2 * time.Second) // for the watch
	g.shut(true)
	looker := connectBy(t, server, (&gate{}).dial)
	for names, _, _ := looker.Children("/expired"); len(names) > 1; names, _, _ = looker.Children("/expired") {
		time.Sleep(100 * time.Millisecond)
	}
	next := bytewayAt(t, server, &gate{}, "/expired")
	acquired := make(chan error, 1)
	go func() { acquired <- next.Lock(t.Context()) }()
	if err := holder.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-acquired; err != nil {
		t.Fatal(err)
	}
	g.shut(false)
	if err := testkit.From(t, "the waiter gets the lock", got); err != nil {
		t.Errorf("the waiter does not get the lock: %v", err)
	}
}

func bytewayAt(t *testing.T, server string, g *gate, path string) workload.Locker {
	t.Helper()
	return newByteway(connectBy(t, server, g.dial), path).(workload.Locker)
}

// gate is before a client's connections: it sees each request before that is sent, and can be shut.
type gate struct {
	before func(op uint32)

	mu     sync.Mutex
	closed bool
	conns  []net.Conn
}

func (g *gate) dial(network, address string, timeout time.Duration) (net.Conn, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, errors.New("the gate is shut")
	}
	c, err := net.DialTimeout(network, address, timeout)
	if err == nil {
		g.conns = append(g.conns, c)
	}
	return &gated{c, g}, err
}

func (g *gate) shut(shut bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = shut
	for _, c := range g.conns {
		c.Close()
	}
	g.conns = nil
}

type gated struct {
	net.Conn
	gate *gate
}

func (c *gated) Write(frame []byte) (int, error) {
	if c.gate.before != nil && len(frame) >= 12 {
		c.gate.before(binary.BigEndian.Uint32(frame[8:]))
	}
	return c.Conn.Write(frame)
}

// connectBy opens a session through a dialer.
func connectBy(t *testing.T, server string, dial zk.Dialer) *zk.Conn {
	t.Helper()
	c, events, err := zk.Connect([]string{server}, 8*time.Second, zk.WithDialer(dial), zk.WithLogger(silence{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	for e := range events {
		if e.State == zk.StateHasSession {
			break
		}
	}
	return c
}
