package workload

// The priority queue workload.
//
// As for a queue: clients offer values, each a different one, poll, take and peek; at the end one of them drains what
// is left. Each value has a priority of a few, negative ones among them, so that equals meet and better ones come
// late. The value says its priority: "-1:v2a3".

import (
	"context"

	"github.com/zktorture/zktorture/linearizability"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim/world"
)

// priorityQueueKind is the table's line for this kind, see [Kind].
var priorityQueueKind = Kind{
	Name:  "priorityqueue",
	Model: linearizability.PriorityQueue(),
	Promises: []Promise{
		{
			Title: "linearizable",
			Names: []string{"duplicate", "phantom", "order", "false-empty", "stale-peek"},
			Text: "the lowest number comes out first, and the oldest of equal ones; " +
				"operations of unknown outcome may have taken effect or not",
		},
		noneLost,
		{Names: []string{"progress"}, Text: "a take returns when there is something to take"},
		usable, tidy, noLeaks,
	},
	Recipes: []Entry{
		priorityQueueEntry(Ours, "recipes.PriorityQueue: lowest number first, FIFO among equals",
			func(c recipes.Conn, path string) PriorityQueuer { return recipes.NewPriorityQueue(c, path) }),
		priorityQueueEntry("ours/receipts", "recipes.PriorityQueue with receipts: unknown outcomes are resolved",
			func(c recipes.Conn, path string) PriorityQueuer {
				return recipes.NewPriorityQueue(c, path, recipes.WithReceipts())
			}),
	},
}

var priorityQueueEntry = entries("priorityqueue", PriorityQueue)

// PriorityQueuer is a priority queue as the workload uses it: lower numbers come out first, and Poll returns
// recipes.ErrEmpty when there is nothing. A recipe may also have Take and Peek, like a [Queuer].
type PriorityQueuer interface {
	Offer(ctx context.Context, priority int32, data []byte) error
	Poll(ctx context.Context) ([]byte, error)
}

// PriorityQueue is the priority queue workload for a recipe. new is called once for each user of a
// session; all that it returns must be about the same queue.
func PriorityQueue(new func(c recipes.Conn, path string) PriorityQueuer, opts ...Option) *Workload {
	return workloadOf("priorityqueue", linearizability.PriorityQueue(), new, planPriorityQueue, opts)
}

func planPriorityQueue(p *world.Plan, path string) Episode {
	e := planQueue(p, path, func(recipe any, ctx context.Context, it queueItem) error {
		return recipe.(PriorityQueuer).Offer(ctx, it.priority, []byte(it.value))
	})
	e.priority = handOut(drawPriorities(p, e.turns))
	return e
}

// priorities are few, and such that texts would not sort like the numbers.
var priorities = [...]int32{5, -1, 10, -2}

// drawPriorities draws a priority for each offer of the scripts.
func drawPriorities(p *world.Plan, scripts [][]string) [][]int32 {
	drawn := make([][]int32, len(scripts))
	for slot, script := range scripts {
		for _, name := range script {
			if name == "offer" {
				drawn[slot] = append(drawn[slot], priorities[p.Part(len(priorities), world.PlanLabel(slot))])
			}
		}
	}
	return drawn
}

// handOut hands out what was drawn, one offer after the other.
func handOut(drawn [][]int32) func(slot int) int32 {
	return func(slot int) int32 {
		if len(drawn[slot]) == 0 {
			return priorities[0] // of what is offered when the script is over
		}
		next := drawn[slot][0]
		drawn[slot] = drawn[slot][1:]
		return next
	}
}
