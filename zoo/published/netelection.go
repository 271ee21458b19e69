package published

import (
	"context"
	"fmt"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
)

// NetElection elects a leader. After ZooKeeperNet.Recipes.LeaderElection of ewhauser/zookeeper, a client for .NET,
// before pull request 31 (2016).
type NetElection struct{ contender }

// NewNetElection returns a candidate; nothing is sent before it runs.
func NewNetElection(zookeeper recipes.Conn, path string, bugs Bugs) *NetElection {
	return &NetElection{newContender(zookeeper, path, "", "-", bugs)}
}

// Campaign runs for leader and waits for the watcher's TakeLeadership (Start).
func (e *NetElection) Campaign(ctx context.Context) error {
	e.prefix = fmt.Sprintf("election-%d-", e.client.SessionID())
	return e.orWithdraw(e.runForLeader(ctx))
}

func (e *NetElection) runForLeader(ctx context.Context) error {
	// Only watch the node directly before us.
	return e.waitTurnBy(ctx, rightBefore, func(name string) (leads bool, err error) {
		event, gone, err := e.hearOf(ctx, name)
		gone = gone || event.Type == zk.EventNodeDeleted
		return gone && e.bugs.Has("E2"), err // BUG: E2 the node before was perhaps not the leader's
	})
}
