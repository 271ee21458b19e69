package published

import (
	"context"
	"sync/atomic"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
)

// LeaderElectionSupport elects a leader: a candidate makes an offer, and the offer with the lowest
// number leads. After org.apache.zookeeper.recipes.leader.LeaderElectionSupport, Apache ZooKeeper
// 3.9. The names have a hyphen more; the host names are left out.
type LeaderElectionSupport struct {
	zookeeper    recipes.Conn
	rootNodeName string
	leaderOffer  contender
	bugs         Bugs
	elected      atomic.Pointer[hold] // of the offer in the state ELECTED, nil in the others
}

// NewLeaderElectionSupport returns a candidate; nothing is sent before it is started.
func NewLeaderElectionSupport(zookeeper recipes.Conn, rootNodeName string, bugs Bugs) *LeaderElectionSupport {
	return &LeaderElectionSupport{
		zookeeper: zookeeper, rootNodeName: rootNodeName, bugs: bugs,
		leaderOffer: newContender(zookeeper, rootNodeName, "n_"),
	}
}

// Campaign starts the election and waits for the state ELECTED (start).
func (s *LeaderElectionSupport) Campaign(ctx context.Context) error {
	if err := s.makeOffer(ctx); err != nil {
		return err
	}
	return s.leaderOffer.orWithdraw(s.determineElectionStatus(ctx))
}

func (s *LeaderElectionSupport) makeOffer(ctx context.Context) error {
	if s.bugs.Has("E4") { // BUG: E4 nothing in the name tells whose it is: an offer whose reply is lost stays, and the next start queues behind it
		path, err := createUnder(s.zookeeper, s.rootNodeName, "n_-", zk.FlagEphemeralSequential)
		s.leaderOffer.path = path
		return err
	}
	return s.leaderOffer.orWithdraw(s.leaderOffer.enlist(ctx))
}

func (s *LeaderElectionSupport) determineElectionStatus(ctx context.Context) error {
	for {
		leaderOffers, i, err := s.leaderOffer.line(ctx)
		if err != nil {
			return err
		}
		if i > 0 { // becomeReady
			if err := s.leaderOffer.awaitDeletion(ctx, leaderOffers[i-1]); err != nil {
				return err
			}
			continue
		}
		watch, held, err := s.leaderOffer.first(ctx, i) // if the offer has gone with its session it makes another
		if held {
			s.becomeLeader(watch)
		}
		if held || err != nil {
			return err
		}
	}
}

func (s *LeaderElectionSupport) becomeLeader(watch <-chan zk.Event) {
	h := new(hold)
	s.elected.Store(h)
	if !s.bugs.Has("E5") { // BUG: E5 only the deletion of others' offers is handled: the state stays ELECTED when the session has expired
		go h.keep(watch)
	}
}

// IsOwner tells whether the state is ELECTED.
func (s *LeaderElectionSupport) IsOwner() bool { return s.elected.Load().lasts() }

// Resign revokes the offer (stop).
func (s *LeaderElectionSupport) Resign(context.Context) error {
	s.elected.Store(nil)
	return s.leaderOffer.withdraw()
}
