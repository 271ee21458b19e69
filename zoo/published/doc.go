// Package published has recipes as they were published, with their bugs. Use them only to test a tester.
//
// # The model
//
// A file is a recipe with all of its known bugs. Each bug has an id, such as W1, and is a switch: one branch has the
// published line, the other has the fix.
//
//	if w.bugs.Has("W1") { // BUG: W1 also when it is gone already: nobody will wake us, the list must be read again
//		_, _, watch, err = w.zookeeper.ExistsW(predecessor)
//	} else {
//		_, _, watch, err = w.zookeeper.GetW(predecessor)
//	}
//
// A recipe is made with [Bugs], which say which switches are on. [AllBugs] gives the recipe as it was published, and
// [NoBugs] the fixed recipe. [OnlyBugs] of one id gives an animal of the zoo, which has only that bug. So an animal and
// its fixed twin differ in nothing else. Has tells whether a bug is on. Later is Has for a bug that a later version of
// the recipe introduced; AllBugs does not turn it on. The comment "BUG: W1" says what is wrong, also at lines without a
// switch. results/zoo.md lists all ids with what they break; the zoo lists the bugs that have no animal, and why.
//
// Because of the switches no file reads as it was published. The command prints the recipe without them, beside its
// fix:
//
//	torture zoo --source W1                    the functions that the bug W1 changes
//	torture zoo --source --as-published W1     the whole recipe with all of its bugs
//
// A bug can be hunted alone only if the other bugs are fixed, also those that make a class fail at its first call and
// so hide the rest. So the twins have what the originals lack: a guid in each name (W3, DQ5), a sync before a list
// that must not be old (W8, DQ7), czxids after the wrap (W14, DQ6), a look at the recipe's own znode when a session has
// been replaced (W7). Some bugs show only if a second one is on; --source names it. W0 is not in the literature: a
// directory that others remove.
//
// # Origins
//
// The recipes are written anew in Go after Apache ZooKeeper's own (WriteLock, DistributedQueue,
// LeaderElectionSupport), the prose and listings of its documentation and tutorial, articles that many have copied,
// and the libraries that people use: Apache and Netflix Curator, kazoo, go-zookeeper, twitter commons. Each type
// names its origin.
//
// # What other languages have and Go lacks
//
//   - A synchronized method holds a monitor: here one that goes to the longest waiter. Unlike Java's it is not
//     reentrant, so a LockListener must not call the lock. wait, notify and notifyAll are a condition without memory
//     (condition.go).
//   - Static fields are shared by all objects of a process: here by those that are given the same value, which the
//     zoo does for those of one process.
//   - A Watcher's process method is called by the client's event thread. Here a goroutine waits for the one event
//     that go-zookeeper sends for each watch. Java's client also calls every registered watcher for each change of
//     the connection's state and leaves it registered; kazoo's tells every watcher when the connection breaks, and
//     drops it. Recipes that rely on either are run with a client that does so ([fakezk.ClientSemantics]);
//     go-zookeeper tells of an expiry only, once (EventNotWatching).
//   - ConnectionLossException: any error of unknown outcome, and zk.ErrNoServer. SessionExpiredException:
//     zk.ErrSessionExpired, which go-zookeeper hardly ever returns, since it opens a new session by itself.
//     InterruptedException: the end of a context, where the original waits.
//   - After the client is closed Java's calls fail at once with SessionExpiredException. Here a closed connection
//     answers like a lost one, and a goroutine that meets it ends after its attempts.
//
// [fakezk.ClientSemantics]: https://pkg.go.dev/github.com/zktorture/zktorture/fakezk#ClientSemantics
package published
