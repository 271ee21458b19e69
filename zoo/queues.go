package zoo

import (
	"context"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/workload"
	"github.com/zktorture/zktorture/zoo/published"
)

const (
	tutorialQueue      = "the ZooKeeper tutorial, Producer-Consumer Queues"
	syncPrimitiveQueue = "the ZooKeeper tutorial, SyncPrimitive.Queue"
	recipeQueue        = "ZooKeeper Recipes and Solutions, Queues"
	kazooQueue         = "kazoo 2.8, kazoo/recipe/queue.py"
	curatorQueue       = "Apache Curator 5.4, SimpleDistributedQueue"
)

// The animals that are queues.
var queueAnimals = []Animal{
	itemQueue("P4", "of two consumers of one item the loser fails", tutorialQueue, "unexpected-error", "none", published.NewTutorialQueue),
	itemQueue("SP4", "the number's leading zeros are lost, and with them the item", syncPrimitiveQueue, "unexpected-error", "none", published.NewSyncPrimitiveQueue),
	itemQueue("SP5", "of two consumers of one element the loser throws", syncPrimitiveQueue, "unexpected-error", "none", published.NewSyncPrimitiveQueue),
	itemQueue("SP6", "a delete whose reply is lost: the element is gone and nobody got it", syncPrimitiveQueue, "lost", "loss", published.NewSyncPrimitiveQueue),
	itemQueue("SP7", "a producer swallows the exception, and its element may never have been there", syncPrimitiveQueue, "false-empty", "loss", published.NewSyncPrimitiveQueue),
	insistent("DQ3", "an item whose offer's reply is lost is offered again: it is there twice", "duplicate", "loss"),
	consumed("DQ4", "an item is removed before it is worked on: who dies in between takes it along", republishedQueue, "lost", "crash", fakezk.SemanticsGo, published.NewConsumer),
	throughJava("DQ8", "a disconnect throws a consumer out of a call that waits", "unexpected-error", "loss"),
	withoutRoot("DQ9", "the constructor's ACL is null, and the root is never made"),
	itemQueue("DQ10", "items are ephemeral, and go with their producer", recipeQueue, "false-empty", "expiry", published.NewQueueRecipe),
	itemQueue("DQ11", "all servers are held to show the same: an old one's empty list is believed", recipeQueue, "false-empty", "lag", published.NewQueueRecipe),
	itemQueue("Q1", "a get that is repeated after its delete returns the next item", kazooQueue, "lost", "loss", published.NewKazooQueue),
	kazooPriorities("Q2", "a list that is kept hides what is more urgent and came later", "order", "none"),
	consumed("Q4", "the connection's loss has dropped the watch, and the callback does not look again", kazooQueue, "lost-wakeup", "loss", fakezk.SemanticsKazoo, published.NewKazooLockingQueue),
	itemQueue("Q9", "a create that is repeated: the item is there twice", curatorQueue, "duplicate", "loss", published.NewCuratorQueue),
	itemQueue("Q10", "a delete that is repeated meets itself, and is taken for another consumer's", curatorQueue, "lost", "loss", published.NewCuratorQueue),
}

var absentQueues = []Absent{}

// itemQueue is an animal that is a queue of its own type.
func itemQueue[Q workload.Queuer](id, title, source, property, needs string, new func(c recipes.Conn, path string, bugs published.Bugs) Q) Animal {
	return pair(Animal{ID: id, Title: title, Source: source, Property: property, Needs: needs}, func(bugs published.Bugs) *workload.Workload {
		return workload.Queue(func(c recipes.Conn, path string) workload.Queuer { return new(c, path, bugs) }, as(source+" with "+bugs.String())...)
	})
}

// insistent is a DistributedQueue whose user repeats an offer.
func insistent(id, title, property, needs string) Animal {
	return pair(queueAnimal(id, title, property, needs), func(bugs published.Bugs) *workload.Workload {
		return workload.Queue(func(c recipes.Conn, path string) workload.Queuer {
			return published.NewInsistentQueue(c, path, bugs)
		}, as("published/DistributedQueue, offered again, bugs: "+bugs.String())...)
	})
}

// throughJava is a DistributedQueue with the client library that it was written for.
func throughJava(id, title, property, needs string) Animal {
	return pair(queueAnimal(id, title, property, needs), func(bugs published.Bugs) *workload.Workload {
		return workload.Queue(func(c recipes.Conn, path string) workload.Queuer {
			return published.NewQueue(c, path, bugs)
		}, as("published/DistributedQueue, Java's client, bugs: "+bugs.String(), workload.ForClient(fakezk.SemanticsJava), workload.Patient())...)
	})
}

// withoutRoot is a DistributedQueue whose missing root shows by DQ1. There the constructor makes it:
// without faults DQ1 alone does not show.
func withoutRoot(id, title string) Animal {
	return pair(queueAnimal(id, title, "unexpected-error", "none"), distributedQueue, "DQ1")
}

// kazooPriorities is kazoo's queue used with priorities.
func kazooPriorities(id, title, property, needs string) Animal {
	return pair(Animal{ID: id, Title: title, Source: kazooQueue, Property: property, Needs: needs}, func(bugs published.Bugs) *workload.Workload {
		return workload.PriorityQueue(func(c recipes.Conn, path string) workload.PriorityQueuer {
			return published.NewKazooPriorityQueue(c, path, bugs)
		}, as(kazooQueue+" with priorities and "+bugs.String())...)
	})
}

// consumer is a published recipe whose items are worked on.
type consumer interface {
	Offer(ctx context.Context, data []byte) error
	Claim(ctx context.Context) (*published.ClaimedItem, error)
}

// claimer is a consumer as the workload knows it.
type claimer struct{ consumer }

func (c claimer) Claim(ctx context.Context) (workload.Claimed, error) {
	item, err := c.consumer.Claim(ctx)
	if err != nil {
		return nil, err
	}
	return item, nil
}

// consumed is an animal that is a locking queue, with a client library of its own.
func consumed[Q consumer](id, title, source, property, needs string, client fakezk.ClientSemantics, new func(c recipes.Conn, path string, bugs published.Bugs) Q) Animal {
	return pair(Animal{ID: id, Title: title, Source: source, Property: property, Needs: needs}, func(bugs published.Bugs) *workload.Workload {
		return workload.LockingQueue(func(c recipes.Conn, path string) workload.LockingQueuer {
			return claimer{new(c, path, bugs)}
		}, as(source+", claimed, with "+bugs.String(), workload.ForClient(client))...)
	})
}
