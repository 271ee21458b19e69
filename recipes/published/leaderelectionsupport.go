package published

import (
	"context"
	"errors"
	"sync"

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

	mu      sync.Mutex
	elected string // the path of the offer in the state ELECTED, "" in the others
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
	if !s.bugs.Has("E4") {
		return s.leaderOffer.orWithdraw(s.leaderOffer.enlist(ctx))
	}
	for { // BUG: E4 nothing in the name tells whose it is: an offer whose reply is lost stays, and the next start queues behind it
		path, err := s.zookeeper.Create(s.rootNodeName+"/n_-", nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
		if !errors.Is(err, zk.ErrNoNode) {
			s.leaderOffer.path = path
			return err
		}
		if err := ensurePath(s.zookeeper, s.rootNodeName); err != nil {
			return err
		}
	}
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
		if i == 0 {
			watch, held, err := s.leaderOffer.confirm(ctx)
			if held {
				s.becomeLeader(watch)
			}
			if held || err != nil {
				return err
			}
		}
		if err := s.leaderOffer.enlist(ctx); err != nil { // the offer has gone with its session
			return err
		}
	}
}

func (s *LeaderElectionSupport) becomeLeader(watch <-chan zk.Event) {
	path := s.leaderOffer.path
	s.mu.Lock()
	s.elected = path
	s.mu.Unlock()
	if !s.bugs.Has("E5") { // BUG: E5 only the deletion of others' offers is handled: the state stays ELECTED when the session has expired
		go s.process(watch, path)
	}
}

// process is called on the watch of the own offer.
func (s *LeaderElectionSupport) process(watch <-chan zk.Event, path string) {
	<-watch
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.elected == path {
		s.elected = ""
	}
}

// IsOwner tells whether the state is ELECTED.
func (s *LeaderElectionSupport) IsOwner() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.elected != ""
}

// Resign revokes the offer (stop).
func (s *LeaderElectionSupport) Resign(context.Context) error {
	s.mu.Lock()
	s.elected = ""
	s.mu.Unlock()
	return s.leaderOffer.withdraw()
}
