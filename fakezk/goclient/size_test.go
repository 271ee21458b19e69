package goclient_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/goclient"
)

// TestTooLong: what is longer than the server allows costs the connection, at once and whole; what is
// longer than go-zookeeper's buffer is not sent.
func TestTooLong(t *testing.T) {
	l := goclient.NewLocal(fakezk.Config{})
	conn, _, _ := l.Connect(time.Second)
	if err := create(conn, "/x", 0)(); err != nil {
		t.Fatal(err)
	}
	session := conn.SessionID()
	for size, want := range map[int]error{1_000_000: nil, 1_100_000: zk.ErrConnectionClosed,
		3_000_000: zk.ErrShortBuffer} {
		if _, err := conn.Set("/x", make([]byte, size), -1); !errors.Is(err, want) {
			t.Errorf("%d bytes: %v, want %v", size, err, want)
		}
	}
	if _, stat, err := conn.Exists("/x"); err != nil || stat.DataLength != 1_000_000 {
		t.Errorf("afterwards the znode has %+v, error %v", stat, err)
	}
	if conn.SessionID() != session {
		t.Error("the session did not survive its connection")
	}
	small, _, _ := goclient.NewLocal(fakezk.Config{BufferMax: 100}).Connect(time.Second)
	if _, err := small.Create("/x", make([]byte, 100), 0, zk.WorldACL(zk.PermAll)); err != zk.ErrConnectionClosed {
		t.Errorf("a small buffer: %v", err)
	}
}

// TestClientThatIsHungUpOnForEver: a Local does not connect a client for ever whose every request is too long.
func TestClientThatIsHungUpOnForEver(t *testing.T) {
	l := goclient.NewLocal(fakezk.Config{BufferMax: 40})
	conn, _, _ := l.Connect(time.Second)
	path := "/" + strings.Repeat("x", 20)
	if _, _, _, err := conn.ExistsW(path); err != nil {
		t.Fatal(err)
	}
	l.Disconnect(conn)
	l.Reconnect(conn) // its setWatches has 48 bytes
	if _, connected := conn.Connected(); connected {
		t.Error("the client is connected")
	}
}

// TestManyWatchesAreSetAgain: the watches that a client sets again are sent in parts of 128 kB, as a server
// would hang up on all of them at once.
func TestManyWatchesAreSetAgain(t *testing.T) {
	l := goclient.NewLocal(fakezk.Config{})
	conn, _, _ := l.Connect(time.Second)
	other, _, _ := l.Connect(time.Second)
	var watches []<-chan zk.Event
	path := func(i int) string { return fmt.Sprintf("/%0999d", i) }
	for i := range 1200 {
		_, _, ch, err := conn.ExistsW(path(i))
		if err != nil {
			t.Fatal(err)
		}
		watches = append(watches, ch)
	}
	l.Disconnect(conn)
	l.Reconnect(conn)
	for i, ch := range watches {
		if err := create(other, path(i), 0)(); err != nil {
			t.Fatal(err)
		}
		select {
		case e := <-ch:
			if e.Type != zk.EventNodeCreated {
				t.Fatalf("watch %d: %v", i, e)
			}
		default:
			t.Fatalf("watch %d was not set again", i)
		}
	}
}
