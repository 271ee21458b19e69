package zoo

import (
	"cmp"
	"context"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
	"github.com/zktorture/zktorture/workload/cluster"
	"github.com/zktorture/zktorture/zoo/published"
)

// family is a published recipe, and how it is used.
type family struct {
	name  string // of the recipe; the bugs in force follow
	fixed string // its name without bugs, if other families are the same then: they are run once
	make  func(bugs published.Bugs, opts ...workload.Option) *workload.Workload
	opts  []workload.Option
	rate  float64 // see KnownBug
	exact bool    // see KnownBug
}

// families are those of known.tsv.
var families = map[string]family{
	"WriteLock":                writeLock(", bugs: ", published.NewLocker),
	"WriteLock, Java's client": writeLock(", Java's client, bugs: ", published.NewLocker).by(goclient.SemanticsJava),
	"WriteLock, closed first":  writeLock(", closed first, bugs: ", newClosing),
	"WriteLock, one attempt":   writeLock(", one attempt, bugs: ", newOneAttempt),
	"WriteLock, shared": class(workload.Lock, "published/WriteLock, shared by users, bugs: ", nil, sharedByUsers,
		workload.Waive("herd")), // whose watch it was that fired is not known

	"five steps":           own(workload.Lock, "an article with Apache's recipes, Lock in five steps with ", published.NewProseLock),
	"four steps":           own(workload.Lock, "notes on ZooKeeper, Locks in four steps with ", published.NewHerdLock, workload.Unfair()),
	"read and write locks": own(workload.RWLock, "notes on ZooKeeper, read and write locks with ", published.NewProseRWLock),
	"of sessions": own(workload.Lock, "notes on ZooKeeper, of sessions with ", published.NewSessionLock).
		by(goclient.SemanticsJava),
	"class Locks": class(workload.Lock, "notes on ZooKeeper, class Locks with ", nil, published.NewLocksUser,
		workload.Unfair()),
	"create and watch":                watchLock("go-zookeeper"),
	"create and watch, Java's client": watchLock("Java's client").by(goclient.SemanticsJava),
	"class ZkLock": own(workload.Lock, "an article on locks for Java, class ZkLock by go-zookeeper with ",
		published.NewZkLock),

	"go-zookeeper": goZKLock("go-zookeeper 6d30b8b"),
	"zk-lock":      goZKLock("xuqil/zk-lock 075a3e8"),
	"kazoo, Lock": own(workload.Lock, "kazoo 2.8, kazoo/recipe/lock.py by kazoo with ", published.NewKazooLock).
		by(goclient.SemanticsKazoo),
	"Curator, lock":                curatorLock("go-zookeeper"),
	"Curator, lock, Java's client": curatorLock("Java's client").by(goclient.SemanticsJava),
	"flag":                         own(workload.Lock, "a lock and its flag with ", published.NewFlagLock),
	"goroutines that race":         own(workload.Lock, "goroutines that race with ", published.NewRacedLock).racing(),
	"own lock":                     own(workload.Lock, "mistakes of our own in a lock, with ", published.NewOwnLock),
	"canary":                       {make: canary, rate: canaryRate},

	"tutorial, Barriers, full":        tutorialBarrier.used(", full rounds, with ", workload.Dialect{Full: true}.Option()),
	"tutorial, Barriers, any":         tutorialBarrier.used(", any rounds, with "),
	"SyncPrimitive.Barrier, full":     syncPrimitive.used(", full rounds, with ", workload.Dialect{Full: true}.Option()),
	"SyncPrimitive.Barrier, sparse":   syncPrimitive.used(", sparse rounds, with ", workload.Dialect{Sparse: true}.Option()),
	"SyncPrimitive.Barrier, apart":    syncPrimitive.used(", rounds apart, with ", workload.Dialect{Apart: true}.Option()),
	"SyncPrimitive.Barrier, littered": syncPrimitive.used(", littered rounds, with ", workload.Beside("/foreign")), // by another user
	"Curator, DoubleBarrier, full":    curatorBarrier.used(", full rounds, with ", workload.Dialect{Full: true}.Option()),
	"Curator, DoubleBarrier, sparse":  curatorBarrier.used(", sparse rounds, with ", workload.Dialect{Sparse: true}.Option()),
	"kazoo, DoubleBarrier": own(meeting, "kazoo 2.8, kazoo/recipe/barrier.py, DoubleBarrier", forTwo(published.NewKazooDoubleBarrier)).
		by(goclient.SemanticsKazoo).used(", sparse rounds, with ", workload.Dialect{Sparse: true}.Option()),

	// DQ9, that the root is missing, shows by DQ1: there the constructor makes it, so that without faults DQ1 alone does not show.
	"DistributedQueue":                own(workload.Queue, "published/DistributedQueue, bugs: ", published.NewQueue),
	"DistributedQueue, offered again": own(workload.Queue, "published/DistributedQueue, offered again, bugs: ", published.NewInsistentQueue),
	"DistributedQueue, claimed":       own(workload.LockingQueue, "Apache ZooKeeper 3.4.6, recipes/queue, DistributedQueue, claimed, with ", newClaimer),
	"DistributedQueue, Java's client": own(workload.Queue, "published/DistributedQueue, Java's client, bugs: ", published.NewQueue,
		workload.Dialect{Patient: true}.Option()).by(goclient.SemanticsJava),
	"documentation, Queues":        own(workload.Queue, "ZooKeeper Recipes and Solutions, Queues with ", published.NewQueueRecipe),
	"tutorial, Queues":             own(workload.Queue, "the ZooKeeper tutorial, Producer-Consumer Queues with ", published.NewTutorialQueue),
	"SyncPrimitive.Queue":          own(workload.Queue, "the ZooKeeper tutorial, SyncPrimitive.Queue with ", published.NewSyncPrimitiveQueue),
	"kazoo, Queue":                 own(workload.Queue, "kazoo 2.8, kazoo/recipe/queue.py with ", published.NewKazooQueue),
	"kazoo, Queue with priorities": own(workload.PriorityQueue, "kazoo 2.8, kazoo/recipe/queue.py with priorities and ", published.NewKazooPriorityQueue),

	"kazoo, Semaphore":                own(leases, "kazoo#321 with ", forOne(published.NewKazooSemaphore)).as("kazoo#429 with "),
	"Curator, Semaphore, CURATOR-335": curatorSemaphore("CURATOR-335"),
	"Curator, Semaphore, CURATOR-315": curatorSemaphore("CURATOR-315"),
	"Curator, LeaderLatch":            own(workload.Election, "Netflix/curator#115 with ", published.NewLeaderLatch),
	"documentation, Leader Election":  own(workload.Election, "ZooKeeper Recipes and Solutions, Leader Election with ", published.NewElectionRecipe),
	"kazoo, Counter":                  own(workload.Counter, "kazoo 2.8, kazoo/recipe/counter.py with ", published.NewKazooCounter),
	"Curator, SharedCount":            own(workload.Counter, "CURATOR-688 with ", published.NewCuratorSharedCount),

	"go-kratos":               registry("go-kratos/kratos v3.0.0"),
	"gf":                      registry("gogf/gf v2.9.8"),
	"Dubbo":                   registry("apache/dubbo#5125"),
	"CURATOR-391":             cache("CURATOR-391, PathChildrenCache"),
	"CURATOR-191":             cache("CURATOR-191, PathChildrenCache"),
	"slacker-cluster":         cache("sunng87/slacker-cluster#17"),
	"reads beside each other": cache("goroutines that read beside each other"),
	"CURATOR-688":             cache("CURATOR-688"),
	"counted events":          cache("events that are counted on"),
	"Leaf":                    own(twoIDs, "Meituan-Dianping/Leaf#84, Numbers with ", published.NewNumbers).as("worker ids, Numbers with "),
	"wvanbergen/kafka":        {name: "wvanbergen/kafka#102, Consumers with ", make: consumers, fixed: "Kafka's algorithm, Consumers with "},
}

// without is the workload of the recipe without bugs.
func (f family) without() *workload.Workload {
	f.name = cmp.Or(f.fixed, f.name)
	return f.with(published.NoBugs())
}

// as names what the family has in common with others when it is without bugs.
func (f family) as(name string) family { f.fixed = name; return f }

// with is the workload of the recipe with these bugs. Its object's znode may be there when an episode begins.
func (f family) with(bugs published.Bugs) *workload.Workload {
	opts := []workload.Option{workload.Named(f.name + bugs.String()), workload.Existing()}
	return f.make(bugs, append(opts, f.opts...)...)
}

// by has the family use another client library than go-zookeeper.
func (f family) by(client goclient.ClientSemantics) family {
	return f.used("", workload.Dialect{Client: client}.Option())
}

// racing says that the family's bugs show by what the Go runtime decides.
func (f family) racing() family { f.exact = true; return f }

// used has the family used in a way of its own, which its name says.
func (f family) used(how string, opts ...workload.Option) family {
	f.name, f.opts = f.name+how, append(f.opts[:len(f.opts):len(f.opts)], opts...)
	return f
}

// constructor is a recipe's.
type constructor[R any] func(c recipes.Conn, path string, bugs published.Bugs) R

// kind is a workload's constructor, for recipes of the interface I.
type kind[I any] func(new func(recipes.Conn, string) I, opts ...workload.Option) *workload.Workload

// own is a family whose users share nothing.
func own[I, R any](of kind[I], name string, new constructor[R], opts ...workload.Option) family {
	return family{name: name, opts: opts, make: func(bugs published.Bugs, opts ...workload.Option) *workload.Workload {
		return of(func(c recipes.Conn, path string) I { return any(new(c, path, bugs)).(I) }, opts...)
	}}
}

// class is a family whose users of one process share its static fields. These are zero at first if fresh is nil.
func class[I, S, R any](of kind[I], name string, fresh func() *S,
	new func(*S, recipes.Conn, string, published.Bugs) R, opts ...workload.Option) family {
	return family{name: name, opts: opts, make: func(bugs published.Bugs, opts ...workload.Option) *workload.Workload {
		return of(nil, append(opts, workload.Statics(fresh, func(statics *S, c recipes.Conn, path string) I {
			return any(new(statics, c, path, bugs)).(I)
		}))...)
	}}
}

func writeLock[R any](use string, new constructor[R]) family {
	return own(workload.Lock, "published/WriteLock"+use, new, workload.Dialect{Callbacks: true}.Option())
}

// newOneAttempt makes a lock that tries an operation once, as no episode has faults for ten times.
func newOneAttempt(c recipes.Conn, path string, bugs published.Bugs) *published.Locker {
	l := published.NewLocker(c, path, bugs)
	l.SetRetryCount(1)
	return l
}

// sharedByUsers has those of one process share one WriteLock. Whose grant its callback tells of is not known.
func sharedByUsers(one **published.Locker, c recipes.Conn, path string, bugs published.Bugs) *published.Locker {
	if *one == nil {
		*one = published.NewLocker(c, path, bugs)
	}
	return (*one).Other()
}

// closing is a user that makes a WriteLock for each time, and closes it before it unlocks it.
type closing struct {
	*published.Locker
	new func() *published.Locker
}

func newClosing(c recipes.Conn, path string, bugs published.Bugs) *closing {
	return &closing{new: func() *published.Locker { return published.NewLocker(c, path, bugs) }}
}

func (c *closing) Lock(ctx context.Context) error {
	c.Locker = c.new()
	return c.Locker.Lock(ctx)
}

func (c *closing) Unlock(ctx context.Context) error {
	c.Close()
	return c.Locker.Unlock(ctx)
}

// goZKLock is a lock that goes the way of go-zookeeper's.
func goZKLock(project string) family {
	return own(workload.Lock, project+", Lock with ", published.NewGoZKLock).as("go-zookeeper, Lock with ")
}

func watchLock(client string) family {
	return class(workload.Lock, "an article on locks for Java, create and watch by "+client+" with ", nil,
		published.NewWatchLock, workload.Unfair())
}

func curatorLock(client string) family {
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

var (
	tutorialBarrier = own(meeting, "the ZooKeeper tutorial, Barriers", forTwo(published.NewTutorialBarrier))
	syncPrimitive   = class(meeting, "the ZooKeeper tutorial's listing as republished, SyncPrimitive.Barrier",
		published.NewSyncPrimitive, newSyncPrimitiveBarrier)
	curatorBarrier = own(meeting, "Apache Curator 5.4, DistributedDoubleBarrier", forTwo(published.NewCuratorDoubleBarrier))
)

// parties is how many meet.
const parties = 2

// meeting is the workload of a double barrier for two.
func meeting(new func(recipes.Conn, string) workload.Rendezvous, opts ...workload.Option) *workload.Workload {
	return workload.DoubleBarrier(parties, new, opts...)
}

// forTwo is the constructor of a barrier for two.
func forTwo[R any](new func(recipes.Conn, string, int, published.Bugs) R) constructor[R] {
	return func(c recipes.Conn, path string, bugs published.Bugs) R { return new(c, path, parties, bugs) }
}

func newSyncPrimitiveBarrier(class *published.SyncPrimitive, c recipes.Conn, path string,
	bugs published.Bugs) *published.SyncPrimitiveBarrier {
	return published.NewSyncPrimitiveBarrier(class, c, path, parties, bugs)
}

// claimer is a published consumer as the workload knows it.
type claimer struct{ *published.Consumer }

func newClaimer(c recipes.Conn, path string, bugs published.Bugs) claimer {
	return claimer{published.NewConsumer(c, path, bugs)}
}

func (c claimer) Claim(ctx context.Context) (workload.Claimed, error) {
	item, err := c.Consumer.Claim(ctx)
	if err != nil {
		return nil, err
	}
	return item, nil
}

func curatorSemaphore(issue string) family {
	return own(leases, issue+" with ", forOne(published.NewCuratorSemaphore)).
		as("Apache Curator, InterProcessSemaphoreV2 with ")
}

// leases is the workload of a semaphore of one permit.
func leases(new func(recipes.Conn, string) workload.Permitter, opts ...workload.Option) *workload.Workload {
	return workload.Semaphore(1, new, opts...)
}

// forOne is the constructor of a semaphore of one permit.
func forOne[R any](new func(recipes.Conn, string, int, published.Bugs) R) constructor[R] {
	return func(c recipes.Conn, path string, bugs published.Bugs) R { return new(c, path, 1, bugs) }
}

func registry(project string) family {
	return family{name: project + ", Registry with ", make: func(bugs published.Bugs, opts ...workload.Option) *workload.Workload {
		return cluster.Registry(func(c recipes.Conn, path, name string) cluster.Registrar {
			return published.NewRegistry(c, path, name, bugs)
		}, opts...)
	}}.as("go-kratos/kratos, Registry with ")
}

func cache(project string) family {
	return own(cluster.Cache, project+" with ", published.NewCache).as("a cache of a value with ")
}

// twoIDs is the workload of two numbers.
func twoIDs(new func(recipes.Conn, string) cluster.Leaser, opts ...workload.Option) *workload.Workload {
	return cluster.IDs(2, new, opts...)
}

func consumers(bugs published.Bugs, opts ...workload.Option) *workload.Workload {
	return cluster.Shards(func(c recipes.Conn, path string, shards []string) cluster.Sharer {
		return published.NewConsumers(c, path, shards, bugs)
	}, opts...)
}

// canaryRate is how often the canary shows: in one episode of 64 it is broken, and in nearly all of those somebody
// gets the lock and is alive afterwards.
const canaryRate = 1.0 / 64

func canary(bugs published.Bugs, _ ...workload.Option) *workload.Workload {
	if !bugs.Has("canary") {
		return workload.Lock(newOurLock, workload.Named("zoo/canary-fixed"), workload.Existing())
	}
	sound := workload.Lock(newOurLock, workload.Existing())
	broken := workload.Lock(func(c recipes.Conn, path string) workload.Locker {
		return forgetful{newOurLock(c, path), c, path}
	}, workload.Existing())
	return workload.Own("lock", func(p *world.Plan, path string) workload.Episode {
		if p.Choose(64, "canary") == 63 {
			return broken.Episode(p, path)
		}
		return sound.Episode(p, path)
	}, workload.Named("zoo/canary"), workload.JudgedBy(linearizability.Lock()))
}

// forgetful makes a znode more than it deletes.
type forgetful struct {
	workload.Locker
	conn recipes.Conn
	path string
}

func (f forgetful) Lock(ctx context.Context) error {
	err := f.Locker.Lock(ctx)
	if err == nil {
		f.conn.Create(f.path+"/forgotten-"+recipes.NewGUID(f.conn), nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
	}
	return err
}

func newOurLock(c recipes.Conn, path string) workload.Locker { return recipes.NewLock(c, path) }
