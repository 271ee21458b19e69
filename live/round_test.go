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
		l := &Round{episode: idleEpisode{}, sessions: make([]*Session, 3), alone: make(chan struct{}),
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

// A process that crashes ends what its users do, with unknown outcomes, and its session stays. The next has users of
// its own.
func TestCrash(t *testing.T) {
	l := &Round{run: &liveRun{begin: time.Now()}, ctx: t.Context(), episode: soloEpisode{}}
	l.cancels, l.cancelable, l.crashes = map[*world.Op]context.CancelFunc{}, map[*world.Op]bool{}, map[int][]int64{}
	l.SetSession(0, numberedSession(7))
	u := l.User(0, 0)
	ctx, op := u.Begin("acquire", "", false)
	l.Crash(0)
	over, went := make(chan struct{}), false
	go func() {
		defer close(over)
		u.End(op, world.OK, "", nil)
		went = true
	}()
	<-over
	if went || ctx.Err() == nil || op.Outcome != world.Unknown || op.Return != 0 {
		t.Errorf("the user of a dead process goes on: %v, %v, %+v", went, ctx.Err(), op)
	}
	l.SetSession(0, numberedSession(8))
	_, next := l.User(0, 0).Begin("acquire", "", false)
	_, world := l.view()
	died, crashed := world.Crash(0, 0)
	if _, again := world.Crash(0, 1); !crashed || again || died < op.Call || died > next.Call || next.Incarnation != 1 {
		t.Errorf("died at %d between %d and %d: %v, %v; then incarnation %d", died, op.Call, next.Call, crashed, again, next.Incarnation)
	}
	if _, ended := world.SessionEnd(7); ended || l.alive(7) || !l.alive(8) || next.SessionAt != 8 {
		t.Errorf("the session of the dead process ended: %v; it is a client's: %v", ended, l.alive(7))
	}
}

// impatient has one user, who must not wait for ever.
type impatient struct{ soloEpisode }

func (impatient) MayWaitForever(_, _ []*world.Op) []*world.Op { return nil }

// A user whose client has no connection cannot be said to wait for ever: its round is not judged.
func TestFinishWithoutConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Round{run: &liveRun{cfg: Config{Patience: time.Second}}, ctx: t.Context(), episode: impatient{}, active: 1}
		l.run.nemesis.since = time.Now()
		l.cancels, l.cancelable = map[*world.Op]context.CancelFunc{}, map[*world.Op]bool{}
		l.SetSession(0, numberedSession(7))
		ctx, _ := l.User(0, 0).Begin("acquire", "", false)
		if l.Finish() || ctx.Err() == nil {
			t.Errorf("the round can be judged, or its operation goes on: %v", ctx.Err())
		}
	})
}
