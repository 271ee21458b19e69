package zkclient_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/internal/ensembletest"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/zkclient"
)

var _ recipes.Conn = (*zkclient.Client)(nil)

// listen starts a listener that accepts and does something with each connection.
func listen(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			all.Go(func() { defer conn.Close(); serve(conn) })
		}
	})
	t.Cleanup(func() { listener.Close(); all.Wait() })
	return listener.Addr().String()
}

// hang is a server that is paused: it accepts, and answers nothing.
func hang(conn net.Conn) { io.Copy(io.Discard, conn) }

// closedPort is an address at which nobody listens.
func closedPort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

func TestConnectRefuses(t *testing.T) {
	tests := []struct {
		servers string
		timeout time.Duration
		says    []string
	}{
		{"a:2181/app", time.Second, []string{"no chroot", `"/app"`}},
		{"a:x", time.Second, []string{`port "x"`}},
		{"", time.Second, []string{"an address is missing"}},
		{"a:2181", 0, []string{"session timeout is 0s"}},
		{"a:2181", time.Hour * 24 * 25, []string{"24 days"}},
	}
	for _, test := range tests {
		_, err := zkclient.Connect(test.servers, test.timeout)
		wantError(t, err, test.says...)
	}
}

// WaitSession says what is wrong, and Close ends the search for a server.
func TestNoServer(t *testing.T) {
	tests := []struct {
		name, address string
		says          string
	}{
		{"refuses", closedPort(t), "connection refused"},
		{"hangs", listen(t, hang), "has not answered"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			client, err := zkclient.Connect(test.address, time.Second)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 150*time.Millisecond)
			defer cancel()
			err = client.WaitSession(ctx)
			wantError(t, err, "no session", test.address, test.says)
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v does not wrap context.DeadlineExceeded", err)
			}
			client.Close()
			drain(t, client)
			wantError(t, client.WaitSession(t.Context()), "has been closed")
		})
	}
}

// drain reads the events to their end, which comes when the connection's loop has ended.
func drain(t *testing.T, client *zkclient.Client) (events []zk.Event) {
	t.Helper()
	deadline := time.After(patience)
	for {
		select {
		case event, ok := <-client.Events():
			if !ok {
				return events
			}
			events = append(events, event)
		case <-deadline:
			t.Fatal("the client still looks for a server after Close")
		}
	}
}

// A server that hangs costs a quarter of the session timeout, not several sessions, and calls
// made in the meantime are carried out in the end.
func TestGoesOnFromAServerThatHangs(t *testing.T) {
	e := ensembletest.Start(t, 1)
	for range 4 { // the order of the servers is random
		servers := listen(t, hang) + "," + closedPort(t) + "," + e.ConnectString()
		client, err := zkclient.Connect(servers, 2*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		begin := time.Now()
		if _, _, err := client.Get("/"); err != nil {
			t.Errorf("a call before the session: %v", err)
		}
		if took := time.Since(begin); took > 2*time.Second {
			t.Errorf("took %v, longer than the session", took)
		}
	}
}

// Servers that are slow, all of them, are waited for all the same: on a busy machine the beginning of a
// connection takes longer than a server that hangs is waited for.
func TestSlowServersAreWaitedFor(t *testing.T) {
	e := ensembletest.Start(t, 1)
	const late = 1200 * time.Millisecond
	slowly := func(conn net.Conn) {
		select {
		case <-time.After(late):
		case <-t.Context().Done():
			return
		}
		server, err := net.Dial("tcp", e.ConnectString())
		if err != nil {
			return
		}
		defer server.Close()
		go io.Copy(server, conn)
		io.Copy(conn, server)
	}
	for name, cfg := range map[string]zkclient.Config{
		"to answer": {Servers: listen(t, slowly)},
		"to be connected to": {Servers: e.ConnectString(),
			Dial: func(network, address string, timeout time.Duration) (net.Conn, error) {
				if timeout < late {
					return nil, os.ErrDeadlineExceeded
				}
				return net.DialTimeout(network, address, timeout)
			}},
	} {
		cfg.SessionTimeout = 2 * time.Second
		client, err := cfg.Connect()
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		if err := client.WaitSession(ctx); err != nil {
			t.Errorf("slow %s: %v", name, err)
		}
	}
}

// Calls made while there is no server wait for one, over many rounds of the search.
func TestCallsWaitForAServer(t *testing.T) {
	e := ensembletest.Start(t, 1)
	dials := make(chan struct{}, 1000)
	client, err := zkclient.Config{
		Servers:        e.ConnectString(),
		SessionTimeout: 2 * time.Second,
		Dial: func(network, address string, timeout time.Duration) (net.Conn, error) {
			dials <- struct{}{}
			return net.DialTimeout(network, address, timeout)
		},
	}.Connect()
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := client.WaitSession(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := e.Member(0).Kill(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the client notices", func() bool { return client.State() != zk.StateHasSession })
	answer := make(chan error)
	go func() {
		_, _, err := client.Get("/")
		answer <- err
	}()
	for range 5 {
		<-dials
	}
	if err := e.Member(0).Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-answer; err != nil {
		t.Error(err)
	}
}

// Every event is seen by the callback, also those that go-zookeeper's own channel would have no
// room for; those that the client's has no room for are counted.
func TestEventsAreSeenOrCounted(t *testing.T) {
	e := ensembletest.Start(t, 1)
	for _, changes := range []int{50, 1100} {
		var mu sync.Mutex
		seen := 0
		client, err := zkclient.Config{
			Servers:        e.ConnectString(),
			SessionTimeout: time.Second,
			OnEvent: func(event zk.Event) {
				mu.Lock()
				defer mu.Unlock()
				if event.Type == zk.EventNodeDataChanged {
					seen++
				}
			},
		}.Connect()
		if err != nil {
			t.Fatal(err)
		}
		changeRoot(t, client, changes)
		client.Close()
		kept := len(drain(t, client))
		mu.Lock()
		if seen != changes {
			t.Errorf("the callback saw %d of %d changes", seen, changes)
		}
		mu.Unlock()
		if want := max(0, changes-1024); kept < min(changes, 1024) || client.Dropped() < want || want == 0 &&
			client.Dropped() > 0 {
			t.Errorf("%d changes: %d events in the channel, %d dropped", changes, kept, client.Dropped())
		}
	}
}

// changeRoot sets watches and fires each.
func changeRoot(t *testing.T, client *zkclient.Client, times int) {
	t.Helper()
	for range times {
		_, _, changed, err := client.GetW("/")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Set("/", nil, -1); err != nil {
			t.Fatal(err)
		}
		<-changed
	}
}
