package fakezktest_test

import (
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk/fakezktest"
	"github.com/zktorture/zktorture/fakezk/server"
)

// A create whose reply is lost has been carried out, and its ephemeral znode goes with the session: the lines of
// docs/serve.md, in a test.
func TestStart(t *testing.T) {
	servers := fakezktest.Start(t, server.Config{})
	conn, events, err := zk.Connect([]string{servers.Addr(0)}, 10*time.Second, zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	await(events, zk.StateHasSession)
	lost := conn.SessionID()
	if err := servers.Cut(lost, "after"); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Create("/mine", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll)); err == nil {
		t.Error("the reply is not lost")
	}
	await(events, zk.StateHasSession)
	if there, _, err := conn.Exists("/mine"); !there || err != nil {
		t.Errorf("it was not carried out: %v", err)
	}
	if err := servers.Expire(lost); err != nil {
		t.Fatal(err)
	}
	await(events, zk.StateExpired)
	await(events, zk.StateHasSession)
	if there, _, err := conn.Exists("/mine"); there || err != nil {
		t.Errorf("it has outlived its session: %v", err)
	}
}

// await returns when the client is in a state: requests fail while it looks for a server.
func await(events <-chan zk.Event, state zk.State) {
	for e := range events {
		if e.State == state {
			return
		}
	}
}
