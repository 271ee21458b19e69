package zoo

import (
	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/workload"
	"github.com/zktorture/zktorture/zoo/published"
)

// otherBreeds are elections, semaphores and the rest.
var otherBreeds = breeds{
	{"R1", own(workload.RWLock, "kazoo#649 with ", published.NewKazooRWLock)},
	{"R6", own(workload.RWLock, "ZooKeeper Recipes and Solutions, Shared Locks with ", published.NewSharedLock)},
	{"S2", own(leases, "kazoo#429 with ", forOne(published.NewKazooSemaphore))},
	{"S4", curatorSemaphore("CURATOR-335")},
	{"S5", curatorSemaphore("CURATOR-315")},
	{"E1", own(workload.Election, "Netflix/curator#115 with ", published.NewLeaderLatch)},
	{"E2", own(workload.Election, "ewhauser/zookeeper#31 with ", published.NewNetElection)},
	{"E4 E5",
		own(workload.Election, "Apache ZooKeeper 3.9, LeaderElectionSupport with ",
			published.NewLeaderElectionSupport)},
	{"E7",
		own(workload.Election, "ZooKeeper Recipes and Solutions, Leader Election with ", published.NewElectionRecipe)},
	{"X1", own(workload.Lock, "a lock on kazoo's watches with ", published.NewWatchedLock).by(goclient.SemanticsKazoo)},
	{"C1 C9 X5", own(workload.Counter, "kazoo 2.8, kazoo/recipe/counter.py with ", published.NewKazooCounter)},
	{"C2", own(workload.Counter, "Apache Curator 5.4, DistributedAtomicLong with ", published.NewCuratorCounter)},
	{"C3", own(workload.Counter, "CURATOR-688 with ", published.NewCuratorSharedCount)},
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
