package workload

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/recipes/published"
)

// Entry is a recipe that the command knows by name.
type Entry struct {
	Kind   string // the workload
	Recipe string
	Help   string // one line
	New    func() *Workload
}

// Ours names this project's own recipe of a kind.
const Ours = "ours"

// Foreign begins the name of a recipe that another program serves, by the command that runs it.
const Foreign = "exec:"

// Entries lists all known recipes, by kind; the first of each kind is the default.
func Entries() []Entry { return slices.Clone(entries) }

var entries = []Entry{
	lockEntry(Ours, "recipes.Lock: fair, with tokens, survives lost replies", func(c recipes.Conn, path string) Locker {
		return recipes.NewLock(c, path)
	}),
	lockEntry("ours/reentrant", "recipes.ReentrantLock: its owner may lock again", func(c recipes.Conn, path string) Locker {
		return recipes.NewReentrantLock(c, path)
	}),
	lockEntry("ours/multi", "recipes.MultiLock: several locks at once or none", newMulti, withDirs(multiDirs...)),
	lockEntry("ours/simple-retry", "recipes.SimpleLock: create or try again; neither fair nor cheap", func(c recipes.Conn, path string) Locker {
		return recipes.NewSimpleRetryLock(c, path+"/holder")
	}, Unfair()),
	lockEntry("ours/simple-watch", "recipes.SimpleLock: create or watch; not fair, wakes the herd", func(c recipes.Conn, path string) Locker {
		return recipes.NewSimpleWatchLock(c, path+"/holder")
	}, Unfair()),
	lockEntry("published/WriteLock", "Apache ZooKeeper 3.4.6 recipes/lock, as published", func(c recipes.Conn, path string) Locker {
		return published.NewLocker(c, path, published.AllBugs())
	}),
	lockEntry("unfenced", "recipes.Lock before a resource that looks at no tokens: a holder that slept writes after its successor", newUnfenced, judgingWrites()),
	rwLockEntry(Ours, "recipes.RWLock: fair, with tokens, downgrade and revocation", func(c recipes.Conn, path string) RWLocker {
		return recipes.NewRWLock(c, path)
	}),
	semaphoreEntry(Ours, 2, "recipes.Semaphore of 2 permits: fair, with tokens"),
	semaphoreEntry("ours/3", 3, "recipes.Semaphore of 3 permits"),
	queueEntry(Ours, "recipes.Queue: FIFO, says when an outcome is unknown", func(c recipes.Conn, path string) Queuer {
		return recipes.NewQueue(c, path)
	}),
	queueEntry("ours/receipts", "recipes.Queue with receipts: unknown outcomes are resolved", func(c recipes.Conn, path string) Queuer {
		return recipes.NewQueue(c, path, recipes.WithReceipts())
	}),
	priorityQueueEntry(Ours, "recipes.PriorityQueue: lowest number first, FIFO among equals", func(c recipes.Conn, path string) PriorityQueuer {
		return recipes.NewPriorityQueue(c, path)
	}),
	priorityQueueEntry("ours/receipts", "recipes.PriorityQueue with receipts: unknown outcomes are resolved", func(c recipes.Conn, path string) PriorityQueuer {
		return recipes.NewPriorityQueue(c, path, recipes.WithReceipts())
	}),
	lockingQueueEntry(Ours, "recipes.LockingQueue: at least once, with tokens that make it once", func(c recipes.Conn, path string) LockingQueuer {
		return ourLockingQueue{recipes.NewLockingQueue(c, path)}
	}),
	queueEntry("published/DistributedQueue", "Apache ZooKeeper 3.4.6 recipes/queue, as published", func(c recipes.Conn, path string) Queuer {
		return published.NewQueue(c, path, published.AllBugs())
	}),
	electionEntry(Ours, "recipes.Candidate: fair, with tokens, told of loss", func(c recipes.Conn, path string) Candidate {
		return recipes.NewCandidate(c, path)
	}),
	membershipEntry(Ours, "recipes.Group: snapshots of who is in, told of loss", func(c recipes.Conn, path, name string) Grouper {
		return recipes.NewGroup(c, path, name)
	}),
	counterEntry(Ours, "recipes.Counter: a lost reply does not count twice", func(c recipes.Conn, path string) Adder {
		return recipes.NewCounter(c, path)
	}),
	twoPhaseEntry(Ours, "recipes.TwoPhase: two-phase commit that anybody can end", func(c recipes.Conn, path string) Committer {
		return committer{recipes.NewTwoPhase(c, path)}
	}),
	gateEntry(Ours, "recipes.Barrier: a gate that is shut and opened, exactly once for each call", func(c recipes.Conn, path string) Gater {
		return recipes.NewBarrier(c, path)
	}),
	doubleBarrierEntry(Ours, 2, "recipes.DoubleBarrier for 2 parties: rounds that never mix, whoever dies or gives up"),
	doubleBarrierEntry("ours/3", 3, "recipes.DoubleBarrier for 3 parties"),
}

func lockEntry(recipe, help string, new func(recipes.Conn, string) Locker, opts ...LockOption) Entry {
	return Entry{"lock", recipe, help, func() *Workload { return lockNamed(recipe, new, opts...) }}
}

func rwLockEntry(recipe, help string, new func(recipes.Conn, string) RWLocker) Entry {
	return Entry{"rwlock", recipe, help, func() *Workload { return rwLockNamed(recipe, new) }}
}

func semaphoreEntry(recipe string, permits int, help string) Entry {
	return Entry{"semaphore", recipe, help, func() *Workload {
		return semaphoreNamed(recipe, permits, func(c recipes.Conn, path string) Permitter {
			return recipes.NewSemaphore(c, path, permits)
		})
	}}
}

func queueEntry(recipe, help string, new func(recipes.Conn, string) Queuer) Entry {
	return Entry{"queue", recipe, help, func() *Workload { return queueNamed(recipe, new) }}
}

func priorityQueueEntry(recipe, help string, new func(recipes.Conn, string) PriorityQueuer) Entry {
	return Entry{"priorityqueue", recipe, help, func() *Workload { return priorityQueueNamed(recipe, new) }}
}

func electionEntry(recipe, help string, new func(recipes.Conn, string) Candidate) Entry {
	return Entry{"election", recipe, help, func() *Workload { return electionNamed(recipe, new) }}
}

func membershipEntry(recipe, help string, new func(c recipes.Conn, path, name string) Grouper) Entry {
	return Entry{"membership", recipe, help, func() *Workload { return membershipNamed(recipe, new) }}
}

func counterEntry(recipe, help string, new func(recipes.Conn, string) Adder) Entry {
	return Entry{"counter", recipe, help, func() *Workload { return counterNamed(recipe, new) }}
}

func twoPhaseEntry(recipe, help string, new func(recipes.Conn, string) Committer) Entry {
	return Entry{"twophase", recipe, help, func() *Workload { return twoPhaseNamed(recipe, new) }}
}

func gateEntry(recipe, help string, new func(recipes.Conn, string) Gater) Entry {
	return Entry{"barrier", recipe, help, func() *Workload { return gateNamed(recipe, new) }}
}

func doubleBarrierEntry(recipe string, parties int, help string) Entry {
	return Entry{"doublebarrier", recipe, help, func() *Workload {
		return doubleBarrierNamed(recipe, parties, func(c recipes.Conn, path string, parties int) Rendezvous {
			return recipes.NewDoubleBarrier(c, path, parties)
		})
	}}
}

func lockingQueueEntry(recipe, help string, new func(recipes.Conn, string) LockingQueuer) Entry {
	return Entry{"lockingqueue", recipe, help, func() *Workload { return lockingQueueNamed(recipe, new) }}
}

// Find returns the workload of a kind with a recipe; "" is [Ours].
func Find(kind, recipe string) (*Workload, error) {
	if recipe == "" {
		recipe = Ours
	}
	if _, foreign := strings.CutPrefix(recipe, Foreign); foreign {
		return RemoteWorkload(kind, recipe)
	}
	var of []string
	for _, e := range entries {
		if e.Kind == kind && e.Recipe == recipe {
			return e.New(), nil
		}
		if e.Kind == kind {
			of = append(of, e.Recipe)
		}
	}
	if of == nil {
		return nil, fmt.Errorf("unknown workload %q: there are %s", kind, strings.Join(Kinds(), ", "))
	}
	return nil, fmt.Errorf("unknown recipe %q for %s: there are %s", recipe, kind, strings.Join(of, ", "))
}

// Kinds lists the workloads.
func Kinds() []string {
	var kinds []string
	for _, e := range entries {
		if !slices.Contains(kinds, e.Kind) {
			kinds = append(kinds, e.Kind)
		}
	}
	return kinds
}

// Promises says in a line for each property what a workload checks.
func Promises(kind string) []string {
	return map[string][]string{"lock": lockPromises, "rwlock": rwLockPromises, "semaphore": semaphorePromises, "queue": queuePromises, "election": electionPromises, "membership": membershipPromises, "counter": counterPromises, "barrier": gatePromises, "twophase": twoPhasePromises, "doublebarrier": roundsPromises, "priorityqueue": priorityQueuePromises, "lockingqueue": lockingQueuePromises}[kind]
}

var lockPromises = []string{
	"exclusion: no two clients hold the lock while both sessions are alive",
	"belief: who has been told that its session is gone does not go on as the owner",
	"fencing: tokens grow from grant to grant",
	"order: granted in queue order",
	"herd: one release wakes one waiter",
	"(order and herd are not judged of recipes that are not fair)",
	"progress: once faults are healed everybody gets the lock (lost-wakeup, self-block, orphan, deadlock)",
	"no leaks: no znode, watch or goroutine is left",
}

var rwLockPromises = []string{
	"exclusion: while somebody writes nobody else holds the lock, both sessions being alive; no writer gets into a downgrade",
	"belief: who has been told that its session is gone does not go on as a holder",
	"fencing: a writer's token is greater than all before, a reader's than all writers' before",
	"order: granted in queue order, readers together",
	"herd: one release wakes one writer at most, and readers only if a writer releases",
	"revocation: a holder is asked to release only if somebody asks",
	"progress: once faults are healed everybody gets the lock (lost-wakeup, self-block, orphan, deadlock)",
	"no leaks: no znode, watch or goroutine is left",
}

var semaphorePromises = []string{
	"exclusion: no more users than there are permits hold one, their sessions being alive",
	"belief: who has been told that its session is gone does not go on as a holder",
	"fencing: tokens grow from hold to later hold",
	"order: granted in queue order",
	"herd: one release wakes at most as many waiters as there are permits",
	"progress: once faults are healed everybody gets a permit (lost-wakeup, self-block, orphan, deadlock)",
	"no leaks: no znode, watch or goroutine is left",
}

var queuePromises = []string{
	"linearizable FIFO, where an operation of unknown outcome may have happened (duplicate, phantom, order, false-empty, stale-peek)",
	"lost: no item is removed by an operation that reports an error which does not say so",
	"progress: a take returns when there is something to take",
	"no leaks: no znode, watch or goroutine is left",
}

var lockingQueuePromises = []string{
	"exclusion: an item is claimed by one client at a time as long as both sessions are alive",
	"lost: every item is consumed at least once, whoever dies",
	"duplicate, phantom: nothing comes out after it was done, or without having been offered",
	"once: a sink that skips known tokens applies each item once",
	"order, false-empty: no call passes over an item that is free all the time",
	"belief: who has been told that its session is gone does not go on as the holder",
	"progress: a claim returns when there is something to claim",
	"no leaks: no znode, watch or goroutine is left",
}

var priorityQueuePromises = []string{
	"linearizable: the lowest number comes out first, and of equals the oldest; an operation of unknown outcome may have happened",
	"lost: no item is removed by an operation that reports an error which does not say so",
	"progress: a take returns when there is something to take",
	"no leaks: no znode, watch or goroutine is left",
}

var electionPromises = []string{
	"exclusion: no two candidates lead while both sessions are alive",
	"belief: who has been told that its session is gone does not go on as the leader",
	"fencing: tokens grow from term to term",
	"stale-leader: who is said to lead did so at a moment during the call",
	"order: elected in queue order",
	"herd: the end of a term wakes one candidate",
	"progress: once faults are healed every candidate is elected (lost-wakeup, self-block, orphan)",
	"no leaks: no znode, watch or goroutine is left",
}

var membershipPromises = []string{
	"missing: who joined before a list was asked for, and stayed, is in it",
	"ghost: who left before, or whose session had ended, is not",
	"snapshot: a list is a state of the group at a moment during the call",
	"lost-wakeup, unchanged: who waits for a change is told of one, and only of one",
	"belief: who has been told that its session is gone does not go on as a member",
	"progress: every call returns",
	"no leaks: no znode, watch or goroutine is left",
}

var counterPromises = []string{
	"linearizable number, where an addition of unknown outcome may have happened (counted-twice, lost-update, stale-get, sum)",
	"undeclared: no addition is carried out and reports an error which does not say so",
	"progress: every call returns",
	"no leaks: no znode, watch or goroutine is left",
}

var roundsPromises = []string{
	"early-enter: nobody enters unless all parties are there at one moment, and rounds do not mix",
	"early-leave: nobody leaves while somebody is inside",
	"progress: a round begins when enough members wait, and ends when all have left or died (lost-wakeup, orphan)",
	"no leaks: no znode, watch or goroutine is left",
}

var gatePromises = []string{
	"early-wait: nobody gets through unless the barrier is open at a moment, and each change happens once",
	"progress: who waits at a barrier that is open gets through (lost-wakeup)",
	"no leaks: no znode, watch or goroutine is left",
}

var twoPhasePromises = []string{
	"atomicity: all that learn the outcome of a transaction learn the same",
	"validity: commit only if every site has voted for it, abort only if somebody has asked for it",
	"progress: who asks for an outcome is told when all votes are cast or one is to abort (lost-wakeup)",
	"no leaks: no znode, watch or goroutine is left",
}
