package zoo

import (
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/workload"
	"github.com/zktorture/zktorture/zoo/published"
)

// zkLockBreeds are locks on one znode, on ephemeral sequential znodes, kazoo's, Curator's and twitter's.
var zkLockBreeds = breeds{
	{"ZL1 ZL2 ZL4 ZL5 ZL6 ZL17", watchLock("go-zookeeper")},
	{"ZL3", watchLock("Java's client").by(goclient.SemanticsJava)},
	{"ZL7 ZL8 ZL9 ZL10 ZL11 ZL12 ZL13 ZL14 ZL15 ZL16",
		own(workload.Lock, "an article on locks for Java, class ZkLock by go-zookeeper with ", published.NewZkLock)},
	{"L5 L6 L7", own(workload.Lock, "kazoo 2.8, kazoo/recipe/lock.py by kazoo with ", published.NewKazooLock).
		by(goclient.SemanticsKazoo)},
	{"L16 L19 L20 L22", curatorLock("go-zookeeper")},
	{"L28 L30",
		own(workload.Lock, "twitter commons, DistributedLockImpl by go-zookeeper with ", published.NewDistributedLock)},
	{"G1 G2 G3", own(workload.Lock, "goroutines that race with ", published.NewRacedLock).racing()},
	{"X6", curatorLock("Java's client").by(goclient.SemanticsJava)},
	{"L35", class(workload.Lock, "a lock that is called by events with ", nil, published.NewCallbackLock)},
	{"H1", own(workload.Lock, "a lock that is early in line with ", published.NewEarlyLock)},
	{"H2", breed{name: "a lock that dials with ", make: redialing}.racing()}, // which of its clients dials first
	{"D1 U1 F1 I1", own(workload.Lock, "mistakes of our own in a lock, with ", published.NewOwnLock)},
}

func watchLock(client string) breed {
	return class(workload.Lock, "an article on locks for Java, create and watch by "+client+" with ", nil,
		published.NewWatchLock, workload.Unfair())
}

func curatorLock(client string) breed {
	new := func(c recipes.Conn, path string, bugs published.Bugs) *published.CuratorLock {
		return published.NewCuratorLock(c, path, curatorExpires, bugs)
	}
	return own(workload.Lock, "Apache Curator 5.4, LockInternals by "+client+" with ", new,
		workload.JudgeWrites(), workload.Waive("false-lost"))
}

// curatorExpires is when LOST comes, which a clock says and no server (so false-lost is waived). It is short by the
// measure of the simulator, in which a step takes a microsecond: LOST may come a few steps after the connection has
// broken, long before the servers expire anything.
const curatorExpires = 3 * time.Microsecond

// redialing lets a lock dial. Goroutines may be left: a request that is lost while go-zookeeper closes keeps its loop.
func redialing(bugs published.Bugs, opts ...workload.Option) *workload.Workload {
	return workload.Of(workload.Lock, func(s workload.Servers, path string) workload.Locker {
		dial := func() *zk.Conn {
			conn, _, err := zk.Connect(s.Addresses, 4*time.Second, s.Option, zk.WithLogInfo(false), zk.WithLogger(silent{}))
			if err != nil {
				panic(err)
			}
			return conn
		}
		return published.NewRedialLock(dial, path, bugs)
	}, append(opts, workload.Closing(), workload.Waive("goroutine-leak"))...)
}

// silent prints nothing.
type silent struct{}

func (silent) Printf(string, ...any) {}
