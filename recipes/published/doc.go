// Package published has recipes as they were published, bugs and all. Do not use them for
// anything but testing a tester.
//
// They are Apache ZooKeeper 3.4.6's recipes for a lock (WriteLock, ZNodeName, ProtocolSupport,
// LockListener) and a queue (DistributedQueue), as they have been republished many times, written
// anew in Go. The lock is as republished, where the path of a znode that is found again is
// completed with its directory; Apache's own stores the bare name. Each line that is wrong carries
// a comment "BUG:" with the id of the bug in the corpus of known-broken recipes.
//
// # What Java has and Go has not
//
//   - A synchronized method holds a monitor: here a channel with room for one. Unlike Java's it
//     is not reentrant, so a LockListener must not call the lock.
//   - A Watcher's process method is called by the client's event thread. Here a goroutine waits for
//     the one event that go-zookeeper sends for each watch. Java also calls every registered
//     watcher for each change of the connection's state and leaves it registered; go-zookeeper does
//     so for an expiry only, once (EventNotWatching). What needs the former is marked W6 and DQ8
//     and does not show.
//   - ConnectionLossException: any error after which nobody knows whether the request was carried
//     out, and zk.ErrNoServer. SessionExpiredException: zk.ErrSessionExpired, which go-zookeeper
//     hardly ever returns, since it opens a new session by itself. InterruptedException: the end of
//     a context, in the one place where the original waits.
//   - After the client is closed Java's calls fail at once with SessionExpiredException. Here a
//     closed connection answers like a lost one, and a goroutine that meets it ends after its ten
//     attempts, 45 seconds at most.
package published
