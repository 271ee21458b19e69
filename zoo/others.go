package zoo

import (
	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/workload"
	"github.com/zktorture/zktorture/workload/cluster"
	"github.com/zktorture/zktorture/zoo/published"
)

// otherBreeds are elections, semaphores and the rest.
var otherBreeds = breeds{
	{"R1", own(workload.RWLock, "kazoo#649 with ", published.NewKazooRWLock)},
	{"R6", own(workload.RWLock, "ZooKeeper Recipes and Solutions, Shared Locks with ", published.NewSharedLock)},
	{"S2", own(leases, "kazoo#429 with ", forOne(published.NewKazooSemaphore))},
	{"S3", own(leases, "kazoo#321 with ", forOne(published.NewKazooSemaphore)).mendedAs("kazoo#429 with ")},
	{"S4", curatorSemaphore("CURATOR-335")},
	{"S5", curatorSemaphore("CURATOR-315")},
	{"S6", breed{name: "permits by the place in a line with ", make: func(bugs published.Bugs, opts ...workload.Option) *workload.Workload {
		return workload.Semaphore(2, func(c recipes.Conn, path string) workload.Permitter {
			return published.NewPermits(c, path, 2, bugs)
		}, append(opts, workload.Unfair())...)
	}}},
	{"E1", own(workload.Election, "Netflix/curator#115 with ", published.NewLeaderLatch)},
	{"E2", own(workload.Election, "ewhauser/zookeeper#31 with ", published.NewNetElection)},
	{"E4 E5",
		own(workload.Election, "Apache ZooKeeper 3.9, LeaderElectionSupport with ",
			published.NewLeaderElectionSupport)},
	{"E8 E9", own(workload.Election, "Comcast/go-leaderelection 1d7a4ea, Election with ", published.NewLeaderElectionSupport).
		mendedAs("Apache ZooKeeper 3.9, LeaderElectionSupport with ")},
	{"E10", own(workload.Election, "dcos/dcos-go 3b86d9c, Elector with ", published.NewElector)},
	{"E7",
		own(workload.Election, "ZooKeeper Recipes and Solutions, Leader Election with ", published.NewElectionRecipe)},
	{"X1", own(workload.Lock, "a lock on kazoo's watches with ", published.NewWatchedLock).by(goclient.SemanticsKazoo)},
	{"C1 C9 X5", own(workload.Counter, "kazoo 2.8, kazoo/recipe/counter.py with ", published.NewKazooCounter)},
	{"C2", own(workload.Counter, "Apache Curator 5.4, DistributedAtomicLong with ", published.NewCuratorCounter)},
	{"C3 C4", own(workload.Counter, "CURATOR-688 with ", published.NewCuratorSharedCount)},
	{"B18", own(workload.Barrier, "kazoo 2.8, kazoo/recipe/barrier.py, Barrier with ", published.NewKazooBarrier)},
	{"M1 M2 M3 M4", registry("go-kratos/kratos v3.0.0")},
	{"M5 M6", registry("gogf/gf v2.9.8")},
	{"M7", registry("apache/dubbo#5125")},
	{"M8", registry("go-kratos/kratos 1776124")},
	{"M9", registry("recoveries one at a time")},
	{"M10", registry("apache/dolphinscheduler#5210")},
	{"V1", cache("CURATOR-391, PathChildrenCache")},
	{"V2", cache("CURATOR-191, PathChildrenCache")},
	{"V3", cache("sunng87/slacker-cluster#17")},
	{"V4", cache("librato/watchconf#5")},
	{"V5", cache("goroutines that read beside each other")},
	{"V6", cache("CURATOR-688")},
	{"V7", cache("events that are counted on")},
	{"N1", numbers("goudai/spring-boot-starter-id-generator dcdb073")},
	{"N2", numbers("twitter-archive/snowflake 0468412")},
	{"N3", numbers("Meituan-Dianping/Leaf#108")},
	{"N4", numbers("Meituan-Dianping/Leaf#84")},
	{"N5", numbers("imadcn/idworker#4")},
	{"N6", numbers("imadcn/idworker 173b8eb")},
	{"K1", consumers("kazoo#259")},
	{"K2", consumers("wvanbergen/kafka#102")},
	{"K3", consumers("wvanbergen/kafka#101")},
	{"K4", consumers("Parsely/pykafka#308")},
	{"K5", consumers("SOHU-Co/kafka-node#981")},
	{"canary", breed{make: canary, rate: canaryRate}},
}

func curatorSemaphore(issue string) breed {
	return own(leases, issue+" with ", forOne(published.NewCuratorSemaphore)).
		mendedAs("Apache Curator, InterProcessSemaphoreV2 with ")
}

// leases is the workload of a semaphore of one permit.
func leases(new func(recipes.Conn, string) workload.Permitter, opts ...workload.Option) *workload.Workload {
	return workload.Semaphore(1, new, opts...)
}

// forOne is the constructor of a semaphore of one permit.
func forOne[R any](new func(recipes.Conn, string, int, published.Bugs) R) constructor[R] {
	return func(c recipes.Conn, path string, bugs published.Bugs) R { return new(c, path, 1, bugs) }
}

func registry(project string) breed {
	return breed{name: project + ", Registry with ", make: func(bugs published.Bugs, opts ...workload.Option) *workload.Workload {
		return cluster.Registry(func(c recipes.Conn, path, name string) cluster.Registrar {
			return published.NewRegistry(c, path, name, bugs)
		}, opts...)
	}}.mendedAs("go-kratos/kratos, Registry with ")
}

func cache(project string) breed {
	return own(cluster.Cache, project+" with ", published.NewCache).mendedAs("a cache of a value with ")
}

// twoIDs is the workload of two numbers.
func twoIDs(new func(recipes.Conn, string) cluster.Leaser, opts ...workload.Option) *workload.Workload {
	return cluster.IDs(2, new, opts...)
}

func numbers(project string) breed {
	return own(twoIDs, project+", Numbers with ", published.NewNumbers).mendedAs("worker ids, Numbers with ")
}

func consumers(project string) breed {
	return breed{name: project + ", Consumers with ", make: func(bugs published.Bugs, opts ...workload.Option) *workload.Workload {
		return cluster.Shards(func(c recipes.Conn, path string, shards []string) cluster.Sharer {
			return published.NewConsumers(c, path, shards, bugs)
		}, opts...)
	}}.mendedAs("Kafka's algorithm, Consumers with ")
}
