package fakezk_test

import (
	"fmt"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/wire"
)

// bench is an ensemble with one session, and a request to repeat.
func bench(b *testing.B, replicas int) (*fakezk.Ensemble, fakezk.ConnID) {
	b.Helper()
	b.ReportAllocs()
	e := fakezk.New(fakezk.Config{Replicas: replicas})
	c, _, err := e.Connect(0, 0, fakezk.ConnectRequest{Timeout: 40000})
	if err != nil {
		b.Fatal(err)
	}
	e.Admin(0, &fakezk.Request{Op: wire.OpCreate, Path: "/t", ACL: zk.WorldACL(zk.PermAll)})
	return e, c
}

func do(e *fakezk.Ensemble, c fakezk.ConnID, r *fakezk.Request) *fakezk.Response {
	e.Request(0, c, r)
	for {
		m, ok := e.Next(c)
		if !ok || m.Reply != nil {
			return m.Reply
		}
	}
}

func benchmarkCreateDelete(b *testing.B, replicas int) {
	e, c := bench(b, replicas)
	create := fakezk.Request{Op: wire.OpCreate, Path: "/t/n-", Flags: zk.FlagEphemeral | zk.FlagSequence,
		ACL: zk.WorldACL(zk.PermAll)}
	remove := fakezk.Request{Op: wire.OpDelete, Version: -1}
	for b.Loop() {
		remove.Path = do(e, c, &create).Path
		if reply := do(e, c, &remove); reply.Err != wire.CodeOK {
			b.Fatal(reply.Err)
		}
	}
}

// Two requests an iteration.
func BenchmarkCreateDelete(b *testing.B)          { benchmarkCreateDelete(b, 1) }
func BenchmarkCreateDelete3Replicas(b *testing.B) { benchmarkCreateDelete(b, 3) }

func BenchmarkGetChildren10(b *testing.B) {
	e, c := bench(b, 1)
	for i := range 10 {
		e.Admin(0, &fakezk.Request{Op: wire.OpCreate, Path: fmt.Sprintf("/t/n-%d", i), ACL: zk.WorldACL(zk.PermAll)})
	}
	list := fakezk.Request{Op: wire.OpGetChildren2, Path: "/t"}
	for b.Loop() {
		if reply := do(e, c, &list); len(reply.Children) != 10 {
			b.Fatal(reply.Children)
		}
	}
}

// Two requests and one event an iteration.
func BenchmarkExistsWatchAndFire(b *testing.B) {
	e, c := bench(b, 1)
	exists := fakezk.Request{Op: wire.OpExists, Path: "/t", Watch: true}
	set := fakezk.Request{Op: wire.OpSetData, Path: "/t", Version: -1}
	for b.Loop() {
		do(e, c, &exists)
		e.Request(0, c, &set)
		if m, _ := e.Next(c); m.Event != zk.EventNodeDataChanged {
			b.Fatal(m)
		}
		e.Next(c)
	}
}

// BenchmarkEpisodeSetUp is what every episode of a simulation pays: reset, three sessions, a node.
func BenchmarkEpisodeSetUp(b *testing.B) {
	e, _ := bench(b, 3)
	create := fakezk.Request{Op: wire.OpCreate, Path: "/t", ACL: zk.WorldACL(zk.PermAll)}
	for b.Loop() {
		e.Reset(fakezk.Config{Replicas: 3})
		for i := range 3 {
			e.Connect(0, i, fakezk.ConnectRequest{Timeout: 10000})
		}
		e.Admin(0, &create)
	}
}
