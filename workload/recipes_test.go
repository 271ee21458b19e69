package workload_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// Small recipes, each with one thing about it, and what a workload has to say of them: some look
// broken and are not, some break what no published recipe breaks.

var openACL = zk.WorldACL(zk.PermAll)

// silent is a correct lock that cannot tell whether it is still held: its user has to look after
// the session. A holder that has not been told of the end of its session is no violation.
type silent struct{ lock *recipes.Lock }

func newSilent(c recipes.Conn, path string) workload.Locker {
	return silent{recipes.NewLock(c, path)}
}
func (s silent) Lock(ctx context.Context) error   { return s.lock.Lock(ctx) }
func (s silent) Unlock(ctx context.Context) error { return s.lock.Unlock(ctx) }

func TestZombiesThatHaveNotBeenToldBreakNothing(t *testing.T) {
	wantClean(t, workload.Lock(newSilent), world.Expiry|world.Pause|world.Crash|world.Time)
}

// believer is a correct lock, but says that it is held until it is released.
type believer struct{ silent }

func (believer) IsOwner() bool { return true }

func TestBeliefAgainstBetterKnowledge(t *testing.T) {
	w := workload.Lock(func(c recipes.Conn, path string) workload.Locker {
		return believer{newSilent(c, path).(silent)}
	})
	wantClean(t, w, world.Loss|world.Watch|world.Crash)
	wantBroken(t, w, world.Expiry, "belief", "after learning that this session expired")
}

// sameToken is a correct lock with a token that does not grow.
type sameToken struct{ silent }

func (sameToken) Token() int64 { return 7 }

func TestTokensHaveToGrow(t *testing.T) {
	w := workload.Lock(func(c recipes.Conn, path string) workload.Locker {
		return sameToken{newSilent(c, path).(silent)}
	})
	wantBroken(t, w, world.NoFaults, "fencing", "the token did not grow")
}

// gaps makes and removes other znodes beside those that queue, so that numbers are left out.
// Sequence numbers count all children ever created, not those in the queue.
type gaps struct {
	silent
	conn recipes.Conn
}

func (g gaps) Lock(ctx context.Context) error {
	if path, err := g.conn.Create("/t/lock/other-", nil, zk.FlagSequence, openACL); err == nil {
		g.conn.Delete(path, -1)
	}
	return g.silent.Lock(ctx)
}

func TestGapsInSequenceNumbersAreNormal(t *testing.T) {
	w := workload.Lock(func(c recipes.Conn, path string) workload.Locker {
		return gaps{newSilent(c, path).(silent), c}
	})
	wantClean(t, w, world.NoFaults)
}

// crowd is a lock whose waiters all watch the holder: fair it is not asked to be, but each release
// wakes them all.
type crowd struct {
	conn recipes.Conn
	own  string
}

func (l *crowd) Lock(context.Context) (err error) {
	l.conn.Create("/t/lock", nil, 0, openACL)
	l.own, err = l.conn.Create("/t/lock/n-", nil, zk.FlagEphemeralSequential, openACL)
	for err == nil {
		var names []string
		names, _, err = l.conn.Children("/t/lock")
		slices.Sort(names)
		if err != nil || strings.HasSuffix(l.own, names[0]) {
			return err
		}
		if _, _, deleted, gone := l.conn.GetW("/t/lock/" + names[0]); gone == nil {
			<-deleted
		}
	}
	return err
}

func (l *crowd) Unlock(context.Context) error { return l.conn.Delete(l.own, -1) }

func TestHerd(t *testing.T) {
	w := workload.Lock(func(c recipes.Conn, _ string) workload.Locker { return &crowd{conn: c} })
	wantBroken(t, w, world.NoFaults, "herd", " waiters, ")
}

// noLock grants the lock to everybody.
type noLock struct{}

func (noLock) Lock(context.Context) error   { return nil }
func (noLock) Unlock(context.Context) error { return nil }

func TestNoLockAtAll(t *testing.T) {
	w := workload.Lock(func(recipes.Conn, string) workload.Locker { return noLock{} })
	wantBroken(t, w, world.NoFaults, "exclusion", "session 0x")
}

// untidy leaves a watch behind on a znode that will not come.
type untidy struct {
	silent
	conn recipes.Conn
}

func (u untidy) Lock(ctx context.Context) error {
	u.conn.ExistsW("/t/never")
	return u.silent.Lock(ctx)
}

func TestWatchLeftBehind(t *testing.T) {
	w := workload.Lock(func(c recipes.Conn, path string) workload.Locker {
		return untidy{newSilent(c, path).(silent), c}
	})
	wantBroken(t, w, world.NoFaults, "watch-leak", "/t/never")
}

// rereader reads what it has written. A server refuses a client that has seen more than the server
// has, so within a session reads do not go back (ZooKeeperServer: "Refusing session request").
type rereader struct {
	silent
	conn recipes.Conn
}

var errReadThePast = errors.New("read the past")

func (r rereader) Lock(ctx context.Context) error {
	session := r.conn.(interface{ SessionID() int64 }).SessionID
	before := session()
	path, err := r.conn.Create("/t/mark-", nil, zk.FlagEphemeralSequential, openACL)
	if err != nil {
		return r.silent.Lock(ctx)
	}
	defer r.conn.Delete(path, -1)
	for range 5 { // a connection that breaks leads to another server
		there, _, err := r.conn.Exists(path)
		if err == nil && !there && session() == before {
			panic(errReadThePast)
		}
	}
	return r.silent.Lock(ctx)
}

func TestReadsWithinASessionDoNotGoBack(t *testing.T) {
	w := workload.Lock(func(c recipes.Conn, path string) workload.Locker {
		return rereader{newSilent(c, path).(silent), c}
	})
	r := campaign(t, w, sim.Config{Episodes: 600, Seed: 1, Faults: world.Lag | world.Loss | world.Watch})
	if text := messageOf(r, "panic"); text != "" || r.Struck["lag"] < 20 {
		t.Errorf("lag struck %d times: %s", r.Struck["lag"], text)
	}
}

// vague is a correct queue that does not pass on what is known of an outcome.
type vague struct {
	queue *recipes.Queue
	hide  bool
}

func newVague(hide bool) func(c recipes.Conn, path string) workload.Queuer {
	return func(c recipes.Conn, path string) workload.Queuer { return vague{recipes.NewQueue(c, path), hide} }
}

func (v vague) Offer(ctx context.Context, data []byte) error { return v.queue.Offer(ctx, data) }

func (v vague) Poll(ctx context.Context) ([]byte, error) {
	data, err := v.queue.Poll(ctx)
	if v.hide && errors.Is(err, recipes.ErrUnknownOutcome) {
		err = zk.ErrConnectionClosed
	}
	return data, err
}

// An item that is gone after an error is lost only if the error does not say that it may be.
func TestHonestErrorsLoseNothing(t *testing.T) {
	wantClean(t, workload.Queue(newVague(false)), world.Loss|world.Expiry)
	wantBroken(t, workload.Queue(newVague(true)), world.Loss, "lost", "which does not say so")
}

// deaf is a queue whose take sees nothing but what is there when it is called, and waits else. At a
// queue that stays empty nothing is wrong with that.
type deaf struct{ vague }

func (d deaf) Take(ctx context.Context) ([]byte, error) {
	if data, err := d.Poll(ctx); err != recipes.ErrEmpty {
		return data, err
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestTakeThatSleepsOn(t *testing.T) {
	w := workload.Queue(func(c recipes.Conn, path string) workload.Queuer {
		return deaf{newVague(false)(c, path).(vague)}
	})
	wantBroken(t, w, world.NoFaults, "lost-wakeup", "although there are items in the queue")
}

// A few episodes of every recipe that the command knows; none may end with an unknown verdict, and ours are clean. (The
// simulation of package recipes runs many more.) Here the race detector sees them all. In ZKTORTURE_THOROUGH=all every fault has
// struck but those that cannot.
func TestEveryRecipeIsJudged(t *testing.T) {
	for _, e := range workload.Entries() {
		r, err := sim.Run(t.Context(), e.New(), sim.Config{
			Episodes: testkit.Sized(testkit.Share(60), 5000), Seed: 1, NoShrink: true})
		if err != nil {
			t.Fatal(err)
		}
		clean := strings.HasPrefix(e.Recipe, workload.Ours)
		if r.Undecided > 0 || clean && r.Verdict != sim.VerdictOK {
			t.Errorf("%s %s: %s, %d unknown", e.Kind, e.Recipe, r.Verdict, r.Undecided)
		}
		if of, err := workload.KindNamed(e.Kind); err == nil && e.Recipe == workload.Ours && testkit.Thorough() {
			for name, times := range r.Struck {
				if (times == 0) != (of.Spared[name] != "") {
					t.Errorf("%s: %s struck %d times", e.Kind, name, times)
				}
			}
		}
	}
}
