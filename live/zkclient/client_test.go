package zkclient_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk/fakezktest"
	"github.com/zktorture/zktorture/fakezk/server"
	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/live/ensemble/ensembletest"
	"github.com/zktorture/zktorture/live/zkclient"
	"github.com/zktorture/zktorture/recipes"
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
		{"refuses", closedPort(t), "nothing listens at"},
		{"hangs", listen(t, hang), "has not answered"},
		{"hangs up", listen(t, func(c net.Conn) { c.Close() }), "closes the connection in place of an answer"},
		{"speaks TLS", listen(t, func(c net.Conn) { c.Write([]byte{21, 3, 3, 0, 2, 2, 70}) }), "speaks TLS: name"},
		{"is unknown", "elsewhere:2181", "there is no host elsewhere:"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			cfg := zkclient.Config{Servers: test.address, SessionTimeout: time.Second}
			if test.name == "is unknown" {
				cfg.Dial = func(string, string, time.Duration) (net.Conn, error) {
					return nil, &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "elsewhere", IsNotFound: true}}
				}
			}
			limit := 20 * time.Millisecond
			if test.name == "is unknown" { // it ends by itself
				limit = testkit.Hang
			}
			client, err := cfg.Connect()
			if err != nil {
				t.Fatal(err)
			}
			testkit.Until(t, test.says, func() bool { // it has to have tried
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				defer cancel()
				err = client.WaitSession(ctx)
				return err == nil || strings.Contains(err.Error(), test.says)
			})
			wantError(t, err, "cannot connect to", test.address)
			if final := test.name == "is unknown"; final == errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("that it was waited for, and is final: %v, %v", err, final)
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
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for event := range client.Events() {
			events = append(events, event)
		}
	}()
	testkit.From(t, "the client looks for no server after Close", ended)
	return events
}

// A server that hangs costs a quarter of the session timeout, not several sessions, and calls
// made in the meantime are carried out in the end.
func TestGoesOnFromAServerThatHangs(t *testing.T) {
	const timeout, all = 2 * time.Second, "10.0.0.1:1,10.0.0.2:1,10.0.0.3:1"
	hung := 0
	for range 20 { // the order of the servers is random
		synctest.Test(t, func(t *testing.T) {
			pipeTo := serveInMemory(t)
			client, err := zkclient.Config{Servers: all, SessionTimeout: timeout,
				Dial: func(_, address string, _ time.Duration) (net.Conn, error) {
					switch address {
					case "10.0.0.1:1":
						return pipeTo(time.Hour), nil
					case "10.0.0.2:1":
						return nil, syscall.ECONNREFUSED
					}
					return pipeTo(0), nil
				}}.Connect()
			if err != nil {
				t.Fatal(err)
			}
			begin := time.Now()
			if _, _, err := client.Get("/"); err != nil {
				t.Errorf("a call before the session: %v", err)
			}
			if took := time.Since(begin); took != 0 && took != timeout/4 {
				t.Errorf("took %v, want nothing or a quarter of %v", took, timeout)
			} else if took > 0 {
				hung++
			}
			client.Close()
		})
	}
	if hung == 0 || hung == 20 {
		t.Errorf("the server that hangs was asked first %d times in 20", hung)
	}
}

// serveInMemory starts a server in a bubble. The function that it returns connects to it; the server goes on late after
// the first bytes.
func serveInMemory(t *testing.T) func(late time.Duration) net.Conn {
	t.Helper()
	s, err := server.New(server.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return func(late time.Duration) net.Conn {
		here, there := net.Pipe()
		in := bufio.NewReader(there)
		go func() {
			in.Peek(1)
			select {
			case <-time.After(late):
				s.ServeConn(0, peeked{there, in})
			case <-t.Context().Done():
			}
		}()
		return here
	}
}

// peeked is a connection of which something has been read.
type peeked struct {
	net.Conn
	in *bufio.Reader
}

func (c peeked) Read(p []byte) (int, error) { return c.in.Read(p) }

// Servers that are slow, all of them, are waited for all the same: on a busy machine the beginning of a
// connection takes longer than a server that hangs is waited for.
func TestSlowServersAreWaitedFor(t *testing.T) {
	const late = 1200 * time.Millisecond
	for _, slow := range []string{"to answer", "to be connected to"} {
		synctest.Test(t, func(t *testing.T) {
			pipeTo := serveInMemory(t)
			client, err := zkclient.Config{Servers: "10.0.0.1:1", SessionTimeout: 2 * time.Second,
				Dial: func(_, _ string, timeout time.Duration) (net.Conn, error) {
					if slow == "to answer" {
						return pipeTo(late), nil
					}
					if time.Sleep(min(timeout, late)); timeout < late {
						return nil, os.ErrDeadlineExceeded
					}
					return pipeTo(0), nil
				}}.Connect()
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if err := client.WaitSession(ctx); err != nil {
				t.Errorf("slow %s: %v", slow, err)
			}
			client.Close()
		})
	}
}

// Calls made while there is no server wait for one, over many rounds of the search.
func TestCallsWaitForAServer(t *testing.T) {
	e := fakezktest.Start(t, server.Config{})
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
	e.Kill(0)
	testkit.Until(t, "the client notices", func() bool { return client.State() != zk.StateHasSession })
	answer := make(chan error)
	go func() {
		_, _, err := client.Get("/")
		answer <- err
	}()
	for range 5 {
		<-dials
	}
	e.Restart(0)
	if err := <-answer; err != nil {
		t.Error(err)
	}
}

// Every event is seen by the callback, also those that go-zookeeper's own channel would have no
// room for; those that the client's has no room for are counted.
func TestEventsAreSeenOrCounted(t *testing.T) {
	e := fakezktest.Start(t, server.Config{})
	for _, changes := range []int{50, 1100} {
		var mu sync.Mutex
		seen := 0
		client, err := zkclient.Config{
			Servers:        e.ConnectString(),
			SessionTimeout: ensembletest.Lasting,
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
