package zoo

import (
	"context"

	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/workload"
	"github.com/zktorture/zktorture/zoo/published"
)

// queueBreeds are queues. DQ9, that the root is missing, shows by DQ1: there the constructor makes it, so that
// without faults DQ1 alone does not show.
var queueBreeds = breeds{
	{"DQ1 DQ2 DQ5 DQ6 DQ7 DQ9", own(workload.Queue, "published/DistributedQueue, bugs: ", published.NewQueue)},
	{"DQ3", own(workload.Queue, "published/DistributedQueue, offered again, bugs: ", published.NewInsistentQueue)},
	{"DQ4", own(workload.LockingQueue, "Apache ZooKeeper 3.4.6, recipes/queue, DistributedQueue, claimed, with ",
		claiming(published.NewConsumer))},
	{"DQ8", own(workload.Queue, "published/DistributedQueue, Java's client, bugs: ", published.NewQueue,
		workload.Dialect{Patient: true}.Option()).by(goclient.SemanticsJava)},
	{"DQ10 DQ11", own(workload.Queue, "ZooKeeper Recipes and Solutions, Queues with ", published.NewQueueRecipe)},
	{"P4", own(workload.Queue, "the ZooKeeper tutorial, Producer-Consumer Queues with ", published.NewTutorialQueue)},
	{"SP4 SP5 SP6 SP7",
		own(workload.Queue, "the ZooKeeper tutorial, SyncPrimitive.Queue with ", published.NewSyncPrimitiveQueue)},
	{"Q1", own(workload.Queue, "kazoo 2.8, kazoo/recipe/queue.py with ", published.NewKazooQueue)},
	{"Q2",
		own(workload.PriorityQueue, "kazoo 2.8, kazoo/recipe/queue.py with priorities and ",
			published.NewKazooPriorityQueue)},
	{"Q4", own(workload.LockingQueue, "kazoo 2.8, kazoo/recipe/queue.py, claimed, with ",
		claiming(published.NewKazooLockingQueue)).by(goclient.SemanticsKazoo)},
	{"Q9 Q10", own(workload.Queue, "Apache Curator 5.4, SimpleDistributedQueue with ", published.NewCuratorQueue)},
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

func claiming[Q consumer](new constructor[Q]) constructor[claimer] {
	return func(c recipes.Conn, path string, bugs published.Bugs) claimer { return claimer{new(c, path, bugs)} }
}
