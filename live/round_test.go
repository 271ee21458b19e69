package live

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// idleEpisode has users without operations.
type idleEpisode struct{ workload.Episode }

func (idleEpisode) Users() []int      { return []int{2, 1, 2} }
func (idleEpisode) Run(workload.User) {}

// A user may have finished before the next has begun: the round is over when all have.
func TestUsersWhoFinishAtOnce(t *testing.T) {
	for range 20000 {
		l := &round{episode: idleEpisode{}, sessions: make([]*Session, 3), alone: make(chan struct{}),
			idle: make(chan struct{}), active: 5}
		l.start()
		<-l.alone
		<-l.idle
	}
}

// numbered is a connection that has a session, and nothing else.
type numbered struct {
	recipes.Conn
	session int64
}

func (c numbered) SessionID() int64 { return c.session }
func (c numbered) State() zk.State  { return zk.StateDisconnected }

// numberedSession is a session of which nothing is known but its number.
func numberedSession(id int64) *Session {
	none := func() int { return 0 }
	return &Session{Conn: numbered{session: id}, ExpiriesSeen: none, Broken: none}
}

// impatient has one user, who must not wait for ever.
type impatient struct{ soloEpisode }

func (impatient) MayWaitForever(_, _ []*world.Op) []*world.Op { return nil }

// A user whose client has no connection cannot be said to wait for ever: its round is not judged.
func TestFinishWithoutConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &round{run: &liveRun{cfg: Config{Patience: time.Second}}, ctx: t.Context(), episode: impatient{}, active: 1}
		l.run.nemesis.since = time.Now()
		l.cancels, l.cancelable = map[*world.Op]context.CancelFunc{}, map[*world.Op]bool{}
		l.sessions = []*Session{numberedSession(7)}
		ctx, _ := l.user(0, 0).Begin("acquire", "", false)
		if l.finish() || ctx.Err() == nil {
			t.Errorf("the round can be judged, or its operation goes on: %v", ctx.Err())
		}
	})
}
