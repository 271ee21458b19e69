// Package published has recipes as they were published, bugs and all. Do not use them for anything but testing a
// tester.
//
// # The model
//
// A file is a recipe, and carries all bugs that the recipe is known for. Each bug has an id, W1 say, and is a switch:
// the published line in one branch, its fix in the other.
//
//	if w.bugs.Has("W1") { // BUG: W1 also when it is gone already: nobody will wake us, the list must be read again
//		_, _, watch, err = w.zookeeper.ExistsW(predecessor)
//	} else {
//		_, _, watch, err = w.zookeeper.GetW(predecessor)
//	}
//
// [Bugs] is what a recipe is made with, and says which of the switches are on: [AllBugs] is the recipe as it was
// published, [NoBugs] the recipe fixed, and [OnlyBugs] of one id an animal of the zoo, fixed but for that bug. So
// animal and fixed twin differ in nothing else. Has tells whether a bug is on; Later tells the same of a bug that
// the recipe did not have yet when
// it was published, and got in a later version: AllBugs does not mean it. The comment "BUG: W1" says what is wrong,
// also at lines without a switch; results/zoo.md lists all ids with what they break, and the zoo which bugs have no
// animal, and why.
//
// No file reads as it was published, because of the switches. The command shows it without them, and the fix beside
// it:
//
//	torture zoo --source W1                    what the bug W1 is: the functions in which it makes a difference
//	torture zoo --source --as-published W1     the whole recipe with all of its bugs
//
// To be hunted alone a bug needs the others fixed, also those by which a class fails at its first call and hides the
// rest. So the twins have what the originals lack: a guid in each name (W3, DQ5), a sync before a list that must not
// be old (W8, DQ7), czxids after the wrap (W14, DQ6), a look at the own znode when a session has been replaced (W7).
// Some bugs need a second one in force to show at all; --source names it. W0 is what the corpus does not list: a
// directory that others remove.
//
// # Origins
//
// The recipes are written anew in Go after Apache ZooKeeper's own (WriteLock, DistributedQueue,
// LeaderElectionSupport), the prose and listings of its documentation and tutorial, articles that many have copied,
// and the libraries that people use: Apache and Netflix Curator, kazoo, go-zookeeper, twitter commons. Each type
// names its origin.
//
// # What other languages have and Go has not
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
