// Package published has recipes as they were published, bugs and all. Do not use them for
// anything but testing a tester.
//
// They are written anew in Go after Apache ZooKeeper's own recipes (WriteLock, DistributedQueue,
// LeaderElectionSupport), the prose and listings of its documentation and tutorial, articles that
// many have copied, and the libraries that people use: Apache and Netflix Curator, kazoo,
// go-zookeeper, twitter commons. Each type names its origin. Each line that is wrong carries a
// comment "BUG:" with the id of the bug in the corpus of known-broken recipes; results/zoo.md lists
// them all, with what they break.
//
// # One bug at a time
//
// [Bugs] says which of the wrong lines are in force. [AllBugs] is the class as it was published,
// [OnlyBugs] of one id an animal of the zoo, [NoBugs] its fixed twin. To be hunted alone a bug needs
// the others mended, also those by which a class fails at its first call and hides the rest. So the
// twins have what the originals lack: a guid in each name (W3, DQ5), a sync before a list that must
// not be old (W8, DQ7), czxids after the wrap (W14, DQ6), a look at the own znode when a session has
// been replaced (W7). Some bugs need a second one in force to show at all; the zoo says which. W0 is
// what the corpus does not list: a directory that others remove.
//
// # What other languages have and Go has not
//
//   - A synchronized method holds a monitor: here one that goes to whoever has waited longest. Unlike Java's it
//     is not reentrant, so a LockListener must not call the lock. wait, notify and notifyAll are a
//     condition without memory (condition.go).
//   - Static fields are shared by all objects of a process: here by those who are given the same
//     value, and whoever makes them sees to it that they are of one process.
//   - A Watcher's process method is called by the client's event thread. Here a goroutine waits for
//     the one event that go-zookeeper sends for each watch. Java's client also calls every registered
//     watcher for each change of the connection's state and leaves it registered; kazoo's tells
//     every watcher when the connection breaks, and drops it. Recipes that rely on either are run
//     with a client that does so ([fakezk.ClientSemantics]); go-zookeeper tells of an expiry only,
//     once (EventNotWatching).
//   - ConnectionLossException: any error after which nobody knows whether the request was carried
//     out, and zk.ErrNoServer. SessionExpiredException: zk.ErrSessionExpired, which go-zookeeper
//     hardly ever returns, since it opens a new session by itself. InterruptedException: the end of
//     a context, where the original waits.
//   - After the client is closed Java's calls fail at once with SessionExpiredException. Here a
//     closed connection answers like a lost one, and a goroutine that meets it ends after its
//     attempts.
//
// [fakezk.ClientSemantics]: https://pkg.go.dev/github.com/zktorture/zktorture/fakezk#ClientSemantics
package published
