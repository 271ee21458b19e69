package published

import (
	"context"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
)

// LeaderLatch elects a leader. After com.netflix.curator.framework.recipes.leader.LeaderLatch, Netflix Curator 1.1
// (2012).
type LeaderLatch struct{ contender }

// NewLeaderLatch returns a latch; nothing is sent before it is used.
func NewLeaderLatch(client recipes.Conn, latchPath string, bugs Bugs) *LeaderLatch {
	return &LeaderLatch{newContender(client, latchPath, "_c_", "-latch-", bugs)}
}

// Campaign starts the latch and waits until it has the leadership (start and await).
func (l *LeaderLatch) Campaign(ctx context.Context) error {
	return l.orWithdraw(l.internalStart(ctx))
}

func (l *LeaderLatch) internalStart(ctx context.Context) error {
	return l.waitTurnBy(ctx, rightBefore, func(name string) (leader bool, err error) {
		event, _, err := l.hearOf(ctx, name)
		// BUG: E1 the one before was perhaps no leader: the children must be looked at again
		return event.Type == zk.EventNodeDeleted && l.bugs.Has("E1"), err
	})
}
