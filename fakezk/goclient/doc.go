// Package goclient is go-zookeeper's client of package fakezk's servers, without connections.
//
// A [Client] keeps what go-zookeeper keeps: its session, its watches, the requests under way. It is passive: who owns
// the [Network] moves it, one step after the other. Its [Conn] handles have the methods of go-zookeeper's *zk.Conn.
// [Local] is an in-memory ZooKeeper for unit tests: a network that answers every request at once.
package goclient
