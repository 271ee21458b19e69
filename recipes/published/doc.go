// Package published has recipes as they were published, bugs and all. Do not use them for
// anything but testing a tester.
//
// They are Apache ZooKeeper 3.4.6's recipes for a lock (WriteLock, ZNodeName, ProtocolSupport,
// LockListener) and a queue (DistributedQueue), as they have been republished many times, written
// anew in Go. The lock is as republished, where the path of a znode that is found again is
// completed with its directory; Apache's own stores the bare name. Each line that is wrong carries
// a comment "BUG:" with the id of the bug in the corpus of known-broken recipes.
//
// # One bug at a time
//
// [Bugs] says which of the wrong lines are in force. [AllBugs] is the class as it was published,
// [OnlyBugs] of one id an animal of the zoo, [NoBugs] its fixed twin. To be hunted alone a bug needs
// the others mended, so the twins have what the originals lack: a guid in each name (W3, DQ5), a sync
// before a list that must not be old (W8, DQ7), czxids after the wrap (W14, DQ6). W0 is what the
// corpus does not list: a directory that others remove. These are marked and have no animal:
//
//   - W6: needs Java's client, which calls every watcher at each change of the connection.
//   - W9: needs W3, W5 and W8 in force with it. W11, W12: need ten connections lost in a row.
//   - W10, W16: need users who close a lock or share one object.
//   - W13: the twins of W3 and W7 make a znode anew that somebody deleted, but nobody does.
//   - W15: needs a client that begins without a connection.
//
// # What Java has and Go has not
//
//   - A synchronized method holds a monitor: here a channel with room for one. Unlike Java's it
//     is not reentrant, so a LockListener must not call the lock.
//   - A Watcher's process method is called by the client's event thread. Here a goroutine waits for
//     the one event that go-zookeeper sends for each watch. Java also calls every registered
//     watcher for each change of the connection's state and leaves it registered; go-zookeeper does
//     so for an expiry only, once (EventNotWatching). What needs the former is marked W6 and DQ8.
//   - ConnectionLossException: any error after which nobody knows whether the request was carried
//     out, and zk.ErrNoServer. SessionExpiredException: zk.ErrSessionExpired, which go-zookeeper
//     hardly ever returns, since it opens a new session by itself. InterruptedException: the end of
//     a context, in the one place where the original waits.
//   - After the client is closed Java's calls fail at once with SessionExpiredException. Here a
//     closed connection answers like a lost one, and a goroutine that meets it ends after its ten
//     attempts, 45 seconds at most.
package published
