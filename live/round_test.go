package live

import (
	"testing"

	"github.com/zktorture/zktorture/workload"
)

// idleEpisode has users without operations.
type idleEpisode struct{ workload.Episode }

func (idleEpisode) Users() []int      { return []int{2, 1, 2} }
func (idleEpisode) Run(workload.User) {}

// A user may have finished before the next has begun: the round is over when all have.
func TestUsersWhoFinishAtOnce(t *testing.T) {
	for range 20000 {
		l := &liveRound{episode: idleEpisode{}, sessions: make([]*Session, 3), alone: make(chan struct{}),
			idle: make(chan struct{})}
		l.start()
		<-l.alone
		<-l.idle
	}
}
