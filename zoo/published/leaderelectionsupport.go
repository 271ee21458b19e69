package published

import (
	"context"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
)

// LeaderElectionSupport elects a leader: a candidate makes an offer, and the offer with the lowest number leads.
// After org.apache.zookeeper.recipes.leader.LeaderElectionSupport, Apache ZooKeeper 3.9. The names have a hyphen
// more; the host names are left out.
type LeaderElectionSupport struct {
	contender
	owner // in the state ELECTED
}

// NewLeaderElectionSupport returns a candidate; nothing is sent before it is started.
func NewLeaderElectionSupport(zookeeper recipes.Conn, rootNodeName string, bugs Bugs) *LeaderElectionSupport {
	return &LeaderElectionSupport{contender: newContender(zookeeper, rootNodeName, "n_", "-", bugs)}
}

// Campaign starts the election and waits for the state ELECTED (start).
func (s *LeaderElectionSupport) Campaign(ctx context.Context) error {
	if err := s.makeOffer(ctx); err != nil {
		return err
	}
	return s.orWithdraw(s.determineElectionStatus(ctx))
}

func (s *LeaderElectionSupport) makeOffer(ctx context.Context) (err error) {
	// BUG: E4 nothing in the name tells whose it is: an offer whose reply is lost stays, and the next waits for it
	if s.bugs.Has("E4") {
		s.path, err = createUnder(s.client, s.dir, "n_-", zk.FlagEphemeralSequential)
		return err
	}
	return s.orWithdraw(s.enlist(ctx))
}

func (s *LeaderElectionSupport) determineElectionStatus(ctx context.Context) error {
	for {
		leaderOffers, i, err := s.line(ctx)
		if err != nil {
			return err
		}
		if i > 0 { // becomeReady
			if err := s.awaitDeletion(ctx, leaderOffers[i-1]); err != nil {
				return err
			}
			continue
		}
		watch, held, err := s.first(ctx, i) // if the offer has gone with its session it makes another
		if held {
			s.becomeLeader(watch)
		}
		if held || err != nil {
			return err
		}
	}
}

func (s *LeaderElectionSupport) becomeLeader(watch <-chan zk.Event) {
	h := s.begin()
	if !s.bugs.Has("E5") { // BUG: E5 the state stays ELECTED when the session has expired
		go h.keep(watch)
	}
}

// Resign revokes the offer (stop).
func (s *LeaderElectionSupport) Resign(context.Context) error {
	s.hold.Store(nil)
	return s.withdraw()
}
