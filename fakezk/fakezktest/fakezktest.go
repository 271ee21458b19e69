// Package fakezktest gives a Go test a ZooKeeper of its own, in memory, on free ports, in under five milliseconds:
//
//	servers := fakezktest.Start(t, server.Config{})
//	conn, events, err := zk.Connect(strings.Split(servers.ConnectString(), ","), time.Second)
//
// Any client in any language can connect. The test makes bad things happen by the methods of [server.Server].
package fakezktest

import (
	"testing"

	"github.com/zktorture/zktorture/fakezk/server"
)

// Start starts the configured servers, each on a free loopback port, and closes them at the end of the test. The test
// fails if they cannot be started or closed.
func Start(t testing.TB, cfg server.Config) *server.Server {
	t.Helper()
	s, err := server.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	for i := range s.Members() {
		if err := s.Listen(i, "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
	}
	return s
}
