package published

import (
	"context"
	"errors"
	"fmt"

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

// NetElection is a candidate. After ZooKeeperNet.Recipes.LeaderElection of ewhauser/zookeeper, a
// client for .NET, before pull request 31 (2016).
type NetElection struct{ *Waiter }

// NewNetElection returns a candidate; nothing is sent before it runs.
func NewNetElection(zookeeper recipes.Conn, path string, bugs Bugs) NetElection {
	e := NetElection{newWaiter(zookeeper, path, "", "-")} // only watch the node directly before us
	if bugs.Has("E2") {
		e.await = func(ctx context.Context, name string) (leads bool, err error) {
			event, gone, err := e.hearOf(ctx, name)
			return gone || event.Type == zk.EventNodeDeleted, err // BUG: E2 it was perhaps not the leader's
		}
	}
	return e
}

// Campaign runs for leader and waits for the watcher's TakeLeadership (Start).
func (e NetElection) Campaign(ctx context.Context) error {
	e.prefix = fmt.Sprintf("election-%d-", e.client.SessionID())
	return e.Waiter.Campaign(ctx)
}

// NewElector returns a candidate that reads who leads. After elector.go of dcos/dcos-go 3b86d9c, which wakes all candidates.
func NewElector(conn recipes.Conn, basePath string, bugs Bugs) *Waiter {
	e, leader := newWaiter(conn, basePath, "_c_", "-lock-"), ""
	e.inTheWay = func(children []string, own int) string {
		leader = children[0]
		return rightBefore(children, own)
	}
	e.await = func(ctx context.Context, name string) (bool, error) {
		err := retry(ctx, func() error { _, _, err := conn.Get(basePath + "/" + leader); return err })
		gone := errors.Is(err, zk.ErrNoNode)
		if gone && !bugs.Has("E10") { // BUG: E10 it may resign between list and read
			return false, nil
		}
		if err == nil {
			err = e.awaitDeletion(ctx, name)
		}
		return false, err
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

// LeaderElectionSupport elects a leader: a candidate makes an offer, and the offer with the lowest number leads.
// After org.apache.zookeeper.recipes.leader.LeaderElectionSupport, Apache ZooKeeper 3.9. The names have a hyphen
// more; the host names are left out. With E8 or E9 it does what Election.go of Comcast/go-leaderelection 1d7a4ea does.
type LeaderElectionSupport struct {
	contender
	owner // in the state ELECTED
	bugs  Bugs
}

// NewLeaderElectionSupport returns a candidate; nothing is sent before it is started.
func NewLeaderElectionSupport(zookeeper recipes.Conn, rootNodeName string, bugs Bugs) *LeaderElectionSupport {
	return &LeaderElectionSupport{contender: newContender(zookeeper, rootNodeName, "n_", "-"), bugs: bugs}
}

// Campaign starts the election and waits for the state ELECTED (start).
func (s *LeaderElectionSupport) Campaign(ctx context.Context) error {
	if err := s.makeOffer(ctx); err != nil {
		return err
	}
	watch, err := s.reachTurn(ctx, rightBefore, s.deletion(ctx)) // determineElectionStatus
	if err == nil {
		s.becomeLeader(watch)
	}
	return s.orWithdraw(err)
}

func (s *LeaderElectionSupport) makeOffer(ctx context.Context) (err error) {
	// BUG: E4, E8 nothing in the name tells whose it is: an offer whose reply is lost stays, and the next waits for it
	if s.bugs.Has("E4") || s.bugs.Has("E8") {
		s.path, err = createUnder(s.client, s.dir, "n_-", zk.FlagEphemeralSequential)
		return err
	}
	return s.orWithdraw(s.enlist(ctx))
}

func (s *LeaderElectionSupport) becomeLeader(watch <-chan zk.Event) {
	h := s.begin()
	switch {
	case s.bugs.Has("E5"): // BUG: E5 the state stays ELECTED when the session has expired
	case s.bugs.Has("E9"):
		go func() {
			if event := <-watch; event.Type == zk.EventNodeDeleted { // BUG: E9 an expiry is another event
				h.over.Store(true)
			}
		}()
	default:
		go h.keep(watch)
	}
}

// Resign revokes the offer (stop).
func (s *LeaderElectionSupport) Resign(context.Context) error {
	s.hold.Store(nil)
	return s.withdraw()
}
