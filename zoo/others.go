package zoo

import (
	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/workload"
	"github.com/zktorture/zktorture/zoo/published"
)

// The animals that are elections, semaphores and the rest.
var otherAnimals = []Animal{
	sharedLock("R1", "a reader waits for later writers too, and these for it", "kazoo#649", "lost-wakeup", "none", published.NewKazooRWLock),
	sharedLock("R6", "names are sorted as texts, which begin with a guid: a later client is first too", "ZooKeeper Recipes and Solutions, Shared Locks", "exclusion", "none", published.NewSharedLock),
	leases("S2", "the inner lock's znode stays when a try for it has failed", "kazoo#429", "orphan", "loss", published.NewKazooSemaphore),
	leases("S4", "the connection is lost after the lease was made: it stays", "CURATOR-335", "orphan", "loss", published.NewCuratorSemaphore),
	leases("S5", "a lease that was lost on the way is returned, and the one that was made instead stays", "CURATOR-315", "orphan", "expiry", published.NewCuratorSemaphore),
	candidate("E1", "who is woken by a follower's end takes itself for the leader", "Netflix/curator#115", "exclusion", "crash", published.NewLeaderLatch),
	candidate("E2", "a candidate leads when the one before it is gone, whoever is before that", "ewhauser/zookeeper#31", "exclusion", "crash", published.NewNetElection),
	candidate("E4", "an offer has no identity: one whose reply is lost stays in the way", "Apache ZooKeeper 3.9, LeaderElectionSupport", "orphan", "loss", published.NewLeaderElectionSupport).with(1),
	candidate("E5", "a leader is not told that its session has expired", "Apache ZooKeeper 3.9, LeaderElectionSupport", "belief", "expiry", published.NewLeaderElectionSupport).with(1),
	candidate("E7", "the candidate before is gone when it is to be watched, and nobody wakes the next", "ZooKeeper Recipes and Solutions, Leader Election", "lost-wakeup", "none", published.NewElectionRecipe),
	pair(Animal{ID: "X1", Title: "all watches are dropped with the connection, and a waiter is never told", Source: "kazoo#151", Property: "lost-wakeup", Needs: "loss"}, watchedLock),
}

var absentOthers = []Absent{
	{"X5", "needs a leader that has been deposed without knowing it and goes on answering: the fake's one leader always has the newest state, and its sync is a barrier"},
}

// watchedLock is a lock on the watches of kazoo's client.
func watchedLock(bugs published.Bugs) *workload.Workload {
	return workload.Lock(func(c recipes.Conn, path string) workload.Locker {
		return published.NewWatchedLock(c, path, bugs)
	}, as("a lock on kazoo's watches with "+bugs.String(), workload.ForClient(fakezk.SemanticsKazoo))...)
}

func sharedLock[L workload.RWLocker](id, title, source, property, needs string, new func(c recipes.Conn, path string, bugs published.Bugs) L) Animal {
	return pair(Animal{ID: id, Title: title, Source: source, Property: property, Needs: needs}, func(bugs published.Bugs) *workload.Workload {
		return workload.RWLock(func(c recipes.Conn, path string) workload.RWLocker { return new(c, path, bugs) }, as(source+" with "+bugs.String())...)
	})
}

// leases is an animal that is a semaphore of one permit.
func leases[P workload.Permitter](id, title, source, property, needs string, new func(c recipes.Conn, path string, permits int, bugs published.Bugs) P) Animal {
	return pair(Animal{ID: id, Title: title, Source: source, Property: property, Needs: needs}, func(bugs published.Bugs) *workload.Workload {
		return workload.Semaphore(1, func(c recipes.Conn, path string) workload.Permitter {
			return new(c, path, 1, bugs)
		}, as(source+" with "+bugs.String())...)
	})
}

func candidate[C workload.Candidate](id, title, source, property, needs string, new func(c recipes.Conn, path string, bugs published.Bugs) C) Animal {
	return pair(Animal{ID: id, Title: title, Source: source, Property: property, Needs: needs}, func(bugs published.Bugs) *workload.Workload {
		return workload.Election(func(c recipes.Conn, path string) workload.Candidate { return new(c, path, bugs) }, as(source+" with "+bugs.String())...)
	})
}
