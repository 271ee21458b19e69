package zoo

import (
	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/workload"
	"github.com/zktorture/zktorture/zoo/published"
)

// The animals that are locks of the documents and of go-zookeeper.
var lockAnimals = []Animal{
	proseLock("W17", "the predecessor is gone before exists asks for it, and the text says nothing of that", "lost-wakeup", "none"),
	proseLock("W18", "the old list is judged again: who was woken by a waiter's end takes itself for the first", "exclusion", "cancel"),
	proseLock("W19", "a name without an identity: after a lost create the client queues behind itself", "self-block", "loss").with(1),
	herdLock("LK9", "the znode is sequential but not ephemeral: it outlives a client that dies", "orphan", "crash"),
	rwProseLock("LK10", "a reader waits for the smallest writer only, and reads while the next one writes", "exclusion", "none"),
	sessionLock("LK11", "a reconnect is taken for an expiry: the client queues behind the znode that it has dropped", "self-block", "loss").with(1),
	locksClass("LK1", "the root is ephemeral, and ephemeral znodes have no children", "unexpected-error", "none").with(1),
	locksClass("LK2", "the largest number is taken for the smallest: the newest contender owns the lock", "exclusion", "none"),
	locksClass("LK3", "a contender waits before it watches anything, so that nobody wakes it", "lost-wakeup", "none"),
	locksClass("LK4", "exists asks for a path that is never there: whoever else holds the lock is taken to be gone, and a watch is left each time", "watch-leak", "none"),
	locksClass("LK5", "the number is cut from the name and from the path at the same offset", "unexpected-error", "none").with(1),
	locksClass("LK6", "a new object replaces the static monitor on which another waits", "lost-wakeup", "none"),
	locksClass("LK7", "the root is there already: the constructor ends before name and monitor are set", "unexpected-error", "none").with(1),
	locksClass("LK8", "a lost reply leaves the znode behind, and the next call queues behind it", "orphan", "loss").with(1),
	locksClass("LK12", "an owner is not told that its session has expired", "belief", "expiry"),
	goZKLock("L9", "6d30b8b", "the own number is taken for the lowest although its znode has gone with the session", "exclusion", "expiry"),
	goZKLock("L10", "6d30b8b", "a lock that fails leaves its znode in the queue", "orphan", "loss").with(1),
	goZKLock("L12", "before 1d7be4e", "a predecessor with number 0 is not seen, and the directory with a slash is watched", "unexpected-error", "none"),
	goZKLock("L13", "before f774f13", "the predecessor vanishes between list and watch, and the contender waits on a nil channel", "lost-wakeup", "none"),
	goZKLock("L14", "before 21b4929", "the sign of a number after the wrap is dropped: a later client is first too", "exclusion", "wrap"),
	goZKLock("L15", "6d30b8b", "predecessors with negative numbers are not seen, and the directory with a slash is watched", "unexpected-error", "wrap"),
}

var absentLocks = []Absent{}

func proseLock(id, title, property, needs string) Animal {
	return lockOf(id, title, "an article with Apache's recipes, Lock in five steps", property, needs, func(c recipes.Conn, path string, bugs published.Bugs) workload.Locker {
		return published.NewProseLock(c, path, bugs)
	})
}

func herdLock(id, title, property, needs string) Animal {
	return lockOf(id, title, "notes on ZooKeeper, Locks in four steps", property, needs, func(c recipes.Conn, path string, bugs published.Bugs) workload.Locker {
		return published.NewHerdLock(c, path, bugs)
	}, workload.Unfair())
}

func sessionLock(id, title, property, needs string) Animal {
	return lockOf(id, title, "notes on ZooKeeper, of sessions", property, needs, func(c recipes.Conn, path string, bugs published.Bugs) workload.Locker {
		return published.NewSessionLock(c, path, bugs)
	}, workload.ForClient(fakezk.SemanticsJava))
}

func goZKLock(id, commit, title, property, needs string) Animal {
	return lockOf(id, title, "go-zookeeper "+commit+", Lock", property, needs, func(c recipes.Conn, path string, bugs published.Bugs) workload.Locker {
		return published.NewGoZKLock(c, path, bugs)
	})
}

// locksClass is an animal that is the class Locks, whose objects share static fields.
func locksClass(id, title, property, needs string) Animal {
	source := "notes on ZooKeeper, class Locks"
	return pair(Animal{ID: id, Title: title, Source: source, Property: property, Needs: needs}, func(bugs published.Bugs) *workload.Workload {
		return workload.Lock(nil, as(source+" with "+bugs.String(), workload.Unfair(), workload.Statics(nil, func(class *published.LocksClass, c recipes.Conn, path string) workload.Locker {
			return published.NewLocksUser(c, path, class, bugs)
		}))...)
	})
}

func rwProseLock(id, title, property, needs string) Animal {
	source := "notes on ZooKeeper, read and write locks"
	return pair(Animal{ID: id, Title: title, Source: source, Property: property, Needs: needs}, func(bugs published.Bugs) *workload.Workload {
		return workload.RWLock(func(c recipes.Conn, path string) workload.RWLocker {
			return published.NewProseRWLock(c, path, bugs)
		}, as(source+" with "+bugs.String())...)
	})
}

// lockOf is an animal that is a lock of which all users make their own.
func lockOf(id, title, source, property, needs string, new func(c recipes.Conn, path string, bugs published.Bugs) workload.Locker, opts ...workload.Option) Animal {
	return pair(Animal{ID: id, Title: title, Source: source, Property: property, Needs: needs}, func(bugs published.Bugs) *workload.Workload {
		return workload.Lock(func(c recipes.Conn, path string) workload.Locker { return new(c, path, bugs) }, as(source+" with "+bugs.String(), opts...)...)
	})
}
