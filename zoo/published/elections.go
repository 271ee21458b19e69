package published

import (
	"context"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
)

// NewElectionRecipe returns a volunteer of a leader election as ZooKeeper's documentation describes
// it in "ZooKeeper Recipes and Solutions", Leader Election.
func NewElectionRecipe(client recipes.Conn, election string, bugs Bugs) *Waiter {
	// 1. Create znode z. 2. Let C be the children, and i the sequence number of z.
	e := newWaiter(client, election, "guid-", "-n-")
	if bugs.Has("E7") {
		// 3. Watch for changes on the znode with the largest number smaller than i.
		e.await = func(ctx context.Context, smaller string) (bool, error) {
			// BUG: E7 it may be gone already, and will not come again: the text does not say to look at C again
			_, err := e.hearByExists(ctx, smaller)
			return false, err
		}
	}
	return e
}

// NewLeaderLatch returns a candidate. After com.netflix.curator.framework.recipes.leader.LeaderLatch,
// Netflix Curator 1.1 (2012): its start and await.
func NewLeaderLatch(client recipes.Conn, latchPath string, bugs Bugs) *Waiter {
	l := newWaiter(client, latchPath, "_c_", "-latch-")
	if bugs.Has("E1") {
		l.await = func(ctx context.Context, name string) (leader bool, err error) {
			event, _, err := l.hearOf(ctx, name)
			// BUG: E1 the one before was perhaps no leader: the children must be looked at again
			return event.Type == zk.EventNodeDeleted, err
		}
	}
	return l
}
