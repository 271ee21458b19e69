package sim_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// listeningLock is a lock whose owner takes it for lost when go-zookeeper's event channel tells of what alarms it, and
// does not ask what Lost of recipes.Lock says.
type listeningLock struct {
	lock     *recipes.Lock
	alarming []zk.State

	mu   sync.Mutex
	lost chan struct{}
}

func newListening(c recipes.Conn, path string, alarming []zk.State) *listeningLock {
	l := &listeningLock{lock: recipes.NewLock(c, path), alarming: alarming, lost: make(chan struct{})}
	go l.listen(recipes.SessionEvents(c))
	return l
}

func (l *listeningLock) listen(events <-chan zk.Event) {
	for e := range events {
		if e.Type == zk.EventSession && slices.Contains(l.alarming, e.State) {
			l.lose()
		}
	}
}

func (l *listeningLock) lose() {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.lost:
	default:
		close(l.lost)
	}
}

func (l *listeningLock) Lock(ctx context.Context) error {
	err := l.lock.Lock(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lost = make(chan struct{})
	return err
}

func (l *listeningLock) Unlock(ctx context.Context) error { return l.lock.Unlock(ctx) }

func (l *listeningLock) Token() int64 { return l.lock.Token() }

func (l *listeningLock) Lost() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost
}

func listening(alarming ...zk.State) *workload.Workload {
	return workload.Lock(func(c recipes.Conn, path string) workload.Locker { return newListening(c, path, alarming) },
		workload.Waive("false-lost")) // it says that it is lost on any alarm, and also on one of an earlier session
}

// A lock that listens to the events of its connection is clean, and equal choices give equal runs of it.
func TestListeningLock(t *testing.T) {
	w := listening(zk.StateDisconnected, zk.StateExpired)
	n := testkit.Share(testkit.Sized(250, 2000))
	if r := run(t, w, sim.Config{Episodes: n, Seed: 7}); r.Verdict != sim.VerdictOK {
		t.Errorf("%s: %+v", r.Verdict, r.Violations)
	}
	compareSeeds(t, subject{"listening lock", w, 3}, sim.Config{Clients: 3}, uint64(n))
}

// One that does not listen still acts as the owner after learning of it.
func TestDeafLock(t *testing.T) {
	testkit.ManyWorlds(t)
	r := run(t, listening(), sim.Config{Episodes: 10000, Seed: 7, Faults: world.Expiry, Until: "belief", NoShrink: true})
	if len(r.Violations) != 1 {
		t.Errorf("%s: %+v", r.Verdict, r.Violations)
	}
}

// A client that learns of an expiry late, as the event is still on its way, is not accused of going on knowingly.
func TestWhoHearsLateIsNotAccused(t *testing.T) {
	testkit.ManyWorlds(t)
	r := run(t, listening(zk.StateExpired), sim.Config{Episodes: testkit.Sized(800, 3000), Seed: 7, Faults: world.Expiry})
	if r.Verdict != sim.VerdictOK {
		t.Errorf("%s: %+v", r.Verdict, r.Violations)
	}
}

// earshot is what two readers of one connection have got: one who always reads, and one who does not before the end.
type earshot struct{ heard, unread []string }

func (e *earshot) listen(events, unread <-chan zk.Event, done func()) {
	for event := range events {
		e.heard = append(e.heard, said(event))
	}
	for len(unread) > 0 {
		e.unread = append(e.unread, said(<-unread))
	}
	done()
}

func said(e zk.Event) string {
	return strings.TrimSpace(e.Type.String() + " " + e.State.String() + " " + e.Path)
}

// Who does not read gets the first six events and no other, as go-zookeeper drops what its channel has no room for.
func TestUnreadEventsAreDropped(t *testing.T) {
	var mu sync.Mutex
	var all []*earshot
	w := workload.Lock(func(c recipes.Conn, path string) workload.Locker {
		e := &earshot{}
		unread := recipes.SessionEvents(c)
		go e.listen(recipes.SessionEvents(c), unread, func() {
			mu.Lock()
			defer mu.Unlock()
			all = append(all, e)
		})
		return recipes.NewLock(c, path)
	})
	run(t, w, sim.Config{Episodes: testkit.Share(400), Seed: 3, Workers: 1, Faults: world.Loss | world.Expiry | world.Pause})
	full := 0
	for _, e := range all {
		n := min(len(e.heard), 6)
		if !slices.Equal(e.heard[:n], e.unread) {
			t.Fatalf("heard %q, and unread are %q", e.heard, e.unread)
		}
		if len(e.heard) > 6 {
			full++
		}
	}
	if full == 0 {
		t.Error("nobody had more than six events")
	}
}

// closingLock is held by whoever has made the znode, and released by the end of the session.
type closingLock struct {
	conn recipes.Conn
	path string
}

func (l *closingLock) Lock(ctx context.Context) error {
	for {
		_, err := l.conn.Create(l.path, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
		if err != zk.ErrNodeExists {
			return err
		}
		exists, _, gone, err := l.conn.ExistsW(l.path)
		if err != nil {
			return err
		}
		if exists {
			select {
			case <-gone:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
}

func (l *closingLock) Unlock(context.Context) error {
	l.conn.Close()
	return nil
}

// A recipe may close its connection: its znodes go, others are woken, and whoever shares it, or goes on, gets errors.
func TestClosingLock(t *testing.T) {
	w := workload.Lock(func(c recipes.Conn, path string) workload.Locker { return &closingLock{c, path} },
		workload.Unfair(), workload.Waive("progress", "watch-leak")) // after an error its own znode may be in its way
	n := testkit.Share(1000)
	cfg := sim.Config{Episodes: n, Seed: 5, Faults: world.Expiry | world.Watch | world.Pause | world.Time | world.Lag}
	for _, v := range run(t, w, cfg).Violations {
		if v.Property != "unexpected-error" && v.Property != "unusable" || !strings.Contains(v.Message, zk.ErrConnectionClosed.Error()) {
			t.Errorf("%s: %s", v.Property, v.Message)
		}
	}
	compareSeeds(t, subject{"closing lock", w, 3}, cfg, uint64(n/4))
}
