package zoo

import (
	"time"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/workload"
	"github.com/zktorture/zktorture/zoo/published"
)

// The animals that are locks on one znode, on ephemeral sequential znodes, kazoo's, Curator's and
// twitter's.
var zkLockAnimals = []Animal{
	watchLock.animal("ZL1", "the event comes before the wait, which then has no end", "progress", "none"),
	watchLock.animal("ZL2", "who is woken takes it for a grant, whoever else was woken", "exclusion", "none"),
	watchLock.by(javaClient).animal("ZL3", "a lost connection is taken for the holder's release", "exclusion", "loss"),
	watchLock.animal("ZL4", "the own znode, of a create whose reply was lost, is taken for somebody else's", "lost-wakeup", "loss").with(1),
	watchLock.animal("ZL5", "a release after an expiry deletes the successor's znode", "exclusion", "expiry"),
	watchLock.animal("ZL6", "all waiters of a process share a monitor, and the notification wakes another", "progress", "none"),
	zkLock.animal("ZL7", "the event comes between the look and the wait, which then has no end", "lost-wakeup", "none"),
	zkLock.animal("ZL8", "a try that fails leaves its znode in the queue", "orphan", "none"),
	zkLock.animal("ZL9", "after an error the answer is false, and the caller goes on as the holder", "exclusion", "loss"),
	zkLock.animal("ZL10", "a delete that fails is printed and forgotten, and the znode stays", "orphan", "loss").with(1),
	zkLock.animal("ZL11", "a lost reply leaves a znode in the queue, and the next waits behind it", "self-block", "loss").with(1),
	zkLock.animal("ZL12", "the own znode has gone with the session, and nobody makes another", "progress", "expiry"),
	zkLock.animal("ZL13", "an inner unlock releases the lock under the outer holder", "exclusion", "none"),
	zkLock.animal("ZL14", "an owner is not told that its session has expired", "belief", "expiry"),
	zkLock.animal("ZL15", "names are sorted as texts: after the wrap a later client is first too", "exclusion", "wrap"),
	zkLock.animal("ZL16", "the root could not be made, so the answer is false, and the caller goes on as the holder", "exclusion", "loss").with(2),
	kazooLock.from("before 0937c79, kazoo#170").animal("L5", "the predecessor's watch is dropped with the connection, and nobody looks again", "lost-wakeup", "loss"),
	kazooLock.from("kazoo#732").animal("L6", "the delete after a failure is lost, and the znode stays", "orphan", "loss"),
	kazooLock.from("kazoo#606").animal("L7", "numbers are sorted as texts: after the wrap a later client is first too", "exclusion", "wrap"),
	curatorLock.from("CURATOR-45").animal("L16", "the retries are used up although the create was carried out: the znode stays", "orphan", "loss").with(1),
	curatorLock.from("before a4ee4b58").animal("L19", "the retries are used up after the create: the znode stays", "orphan", "loss").with(1),
	curatorLock.from("CURATOR-264").animal("L20", "the search after a lost create reads a stale server: the client queues behind itself", "self-block", "loss,lag").with(1),
	curatorLock.from("CURATOR-206").animal("L22", "the resource accepts a write of an expired holder after one of its successor", "zombie-write", "expiry"),
	twitterLock.from("issue 99").animal("L28", "a waiter whose time is up leaves its znode in the queue", "orphan", "cancel"),
	twitterLock.from("issue 5").animal("L30", "a holder is not told that its session is gone", "belief", "expiry").with(1),
	curatorLock.from("TN12").by(javaClient).animal("X6", "LOST comes from a timer: the holder forgets a znode which its session keeps", "orphan", "loss").with(1),
}

var absentZKLocks = []Absent{}

// zkClass is a published class of locks, as animals are made of it.
type zkClass struct {
	recipe string // where it was published
	source string // the same, or what tells of the bug
	client client
	make   func(bugs published.Bugs, opts ...workload.Option) *workload.Workload
}

// from says more of where a bug was published.
func (k zkClass) from(where string) zkClass {
	k.source += ", " + where
	return k
}

// by has the class use another client library.
func (k zkClass) by(c client) zkClass {
	k.client = c
	return k
}

func (k zkClass) animal(id, title, property, needs string) Animal {
	return pair(Animal{ID: id, Title: title, Source: k.source, Property: property, Needs: needs}, func(bugs published.Bugs) *workload.Workload {
		return k.make(bugs, as(k.recipe+" by "+k.client.name+" with "+bugs.String(), workload.ForClient(k.client.semantics))...)
	})
}

func newZKClass(recipe string, c client, make func(bugs published.Bugs, opts ...workload.Option) *workload.Workload) zkClass {
	return zkClass{recipe, recipe, c, make}
}

var watchLock = newZKClass("an article on locks for Java, create and watch", goClient, func(bugs published.Bugs, opts ...workload.Option) *workload.Workload {
	return workload.Lock(nil, append(opts, workload.Unfair(), workload.Statics(nil, func(monitors *published.Monitors, c recipes.Conn, path string) workload.Locker {
		return published.NewWatchLock(c, path, monitors, bugs)
	}))...)
})

var zkLock = newZKClass("an article on locks for Java, class ZkLock", goClient, func(bugs published.Bugs, opts ...workload.Option) *workload.Workload {
	return workload.Lock(func(c recipes.Conn, path string) workload.Locker { return published.NewZkLock(c, path, bugs) }, opts...)
})

var kazooLock = newZKClass("kazoo 2.8, kazoo/recipe/lock.py", kazooClient, func(bugs published.Bugs, opts ...workload.Option) *workload.Workload {
	return workload.Lock(func(c recipes.Conn, path string) workload.Locker { return published.NewKazooLock(c, path, bugs) }, opts...)
})

var curatorLock = newZKClass("Apache Curator 5.4, LockInternals", goClient, func(bugs published.Bugs, opts ...workload.Option) *workload.Workload {
	return workload.Lock(func(c recipes.Conn, path string) workload.Locker {
		return published.NewCuratorLock(c, path, curatorExpires, bugs)
	}, append(opts, workload.JudgeWrites())...)
})

// curatorExpires is short by the measure of the simulator, in which a step takes a microsecond: LOST
// may come a few steps after the connection has broken, long before the servers expire anything.
const curatorExpires = 3 * time.Microsecond

var twitterLock = newZKClass("twitter commons, DistributedLockImpl", goClient, func(bugs published.Bugs, opts ...workload.Option) *workload.Workload {
	return workload.Lock(func(c recipes.Conn, path string) workload.Locker { return published.NewDistributedLock(c, path, bugs) }, opts...)
})

// client is a client library, as recipes' names mention it.
type client struct {
	semantics fakezk.ClientSemantics
	name      string
}

var (
	goClient    = client{fakezk.SemanticsGo, "go-zookeeper"}
	javaClient  = client{fakezk.SemanticsJava, "Java's client"}
	kazooClient = client{fakezk.SemanticsKazoo, "kazoo"}
)
