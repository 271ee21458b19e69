package live

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/goclient"
	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/live/worker"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/workload"
)

// site is a ZooKeeper in this process that can be away, or slow: then requests wait.
type site struct {
	*goclient.Local
	admin *goclient.Conn // of the run's own session

	mu    sync.Mutex
	back  chan struct{} // closed while it is there
	delay time.Duration // of every request
}

func newSite() *site {
	s := &site{Local: goclient.NewLocal(fakezk.Config{}), back: make(chan struct{}), delay: 20 * time.Millisecond}
	close(s.back)
	return s
}

// leave lets the servers be away, until they are told to be back.
func (s *site) leave() (back func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	gone := make(chan struct{})
	s.back = gone
	return func() { close(gone) }
}

func (s *site) state() (back chan struct{}, delay time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.back, s.delay
}

// siteConn is a connection to a site. As go-zookeeper's it waits for servers that are away.
type siteConn struct {
	recipes.Conn
	site   *site
	closed <-chan struct{}
}

func (c *siteConn) State() zk.State {
	back, _ := c.site.state()
	select {
	case <-c.closed:
		return zk.StateDisconnected
	default:
	}
	select {
	case <-back:
		return zk.StateHasSession
	default:
		return zk.StateDisconnected
	}
}

// open opens a session, the first for the run itself.
func (s *site) open(context.Context) (*Session, error) {
	conn, _, err := s.Connect(2 * time.Second)
	if err != nil {
		return nil, err
	}
	if s.mu.Lock(); s.admin == nil {
		s.admin = conn
	}
	s.mu.Unlock()
	closed, once := make(chan struct{}), sync.Once{}
	through := recipes.Around(conn, func(_, _ string, send func() error) error {
		back, delay := s.state()
		select {
		case <-time.After(delay):
		case <-closed:
		}
		select {
		case <-back:
			return send()
		case <-closed:
			return zk.ErrConnectionClosed
		}
	})
	none := func() int { return 0 }
	return &Session{Conn: &siteConn{through, s, closed}, ExpiriesSeen: none, Broken: none, Close: func() {
		once.Do(func() { close(closed); conn.Close() })
	}}, nil
}

// ran is what came of a run.
type ran struct {
	sim.Result
	err     error
	history bytes.Buffer
	took    time.Duration // from when it was called off, or the servers went away
}

// onSite runs rounds in virtual time, on servers to which something happens after a while.
func onSite(t *testing.T, w *workload.Workload, cfg Config,
	happens func(ctx context.Context, s *site, interrupt func())) (out *ran) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newSite()
		ctx, cancel := context.WithCancelCause(t.Context())
		interrupt := func() { cancel(errors.New("interrupt signal received")) }
		defer interrupt()
		out = &ran{}
		cfg.Open, cfg.Root, cfg.Seed, cfg.History = s.open, "/root", 1, &out.history
		var happened time.Time
		var all sync.WaitGroup
		all.Go(func() {
			time.Sleep(20 * time.Second)
			happened = time.Now()
			happens(ctx, s, interrupt)
		})
		out.Result, out.err = Run(ctx, w, cfg)
		ended := time.Now()
		interrupt()
		all.Wait()
		out.took = ended.Sub(happened)
		time.Sleep(time.Minute) // what was given up ends
	})
	return out
}

func find(t *testing.T, kind string) *workload.Workload {
	t.Helper()
	w, err := workload.Find(kind, workload.Ours)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// accused fails if anybody was.
func (r *ran) accusesNobody(t *testing.T) {
	t.Helper()
	if len(r.Violations) > 0 || r.Episodes == 0 {
		t.Errorf("%s after %d rounds: %s%s", r.Verdict, r.Episodes, r.Reason, messages(r.Result))
	}
}

// A run ends by itself when its servers are away for good, with what it has found until then.
func TestServersAreAwayForGood(t *testing.T) {
	r := onSite(t, find(t, "lock"), Config{Duration: time.Hour},
		func(_ context.Context, s *site, _ func()) { s.leave() })
	if r.accusesNobody(t); !errors.Is(r.err, errAway) || r.took > 2*time.Minute {
		t.Errorf("after %v: %v", r.took, r.err)
	}
}

// some are the first of these with the race detector, and all without.
func some(all ...time.Duration) []time.Duration { return all[:testkit.Share(len(all))] }

// When a run is called off it ends, in time, also if its servers are away for good.
func TestInterruptedWhileServersAreAway(t *testing.T) {
	for _, after := range some(8*time.Second, 0, time.Second, 19*time.Second) {
		r := onSite(t, find(t, "queue"), Config{Duration: time.Hour, Clients: 16},
			func(_ context.Context, s *site, interrupt func()) {
				s.leave()
				time.Sleep(after)
				interrupt()
			})
		if r.accusesNobody(t); !r.Interrupted || r.took-after > 4*time.Second ||
			r.err != nil && !strings.Contains(r.err.Error(), "torture clean") {
			t.Errorf("after %v away: it took %v: %v", after, r.took-after, r.err)
		}
	}
}

// Servers that are away for some seconds do not end the run, waiting for them is no violation, and the run tells of it,
// meanwhile and at its end.
func TestServersAreAwayForAWhile(t *testing.T) {
	for _, away := range some(8*time.Second, time.Second, 15*time.Second) {
		var told time.Duration
		var noted bytes.Buffer
		progress := func(p sim.Progress) { told = max(told, p.Away) }
		r := onSite(t, find(t, "lock"), Config{Duration: 90 * time.Second, Progress: progress, Strikes: &noted}, func(_ context.Context, s *site, _ func()) {
			back := s.leave()
			time.Sleep(away)
			back()
		})
		if r.accusesNobody(t); r.err != nil || r.took < time.Minute {
			t.Errorf("away for %v: after %v: %v", away, r.took, r.err)
		}
		if near := func(d time.Duration) bool { return d > away-tellAwayEvery && d < away+tellAwayEvery }; r.Away != 1 ||
			!near(r.AwayLongest) || away > 2*tellAwayEvery && !near(told+tellAwayEvery/2) || !strings.Contains(noted.String(), `{"away":true,"at":`) {
			t.Errorf("away for %v: %d times, %v at most, and %v was told: %s", away, r.Away, r.AwayLongest, told, &noted)
		}
	}
}

// Waiting for slow servers is not waiting for ever.
func TestSlowServersAccuseNobody(t *testing.T) {
	for _, delay := range some(1500*time.Millisecond, 300*time.Millisecond, 4*time.Second) {
		for _, kind := range []string{"lock", "queue", "doublebarrier"} {
			r := onSite(t, find(t, kind), Config{Duration: testkit.Share(3 * time.Minute), Patience: 2 * time.Second},
				func(_ context.Context, s *site, _ func()) {
					s.mu.Lock()
					defer s.mu.Unlock()
					s.delay = delay
				})
			if r.accusesNobody(t); r.err != nil && !errors.Is(r.err, errAway) {
				t.Errorf("%s, %v a request: %v", kind, delay, r.err)
			}
		}
	}
}

// Where a request takes longer than the patience clients have longer to reach their servers again, and the rounds are
// judged.
func TestSlowServersAreReached(t *testing.T) {
	r := onSite(t, find(t, "queue"), Config{Duration: testkit.Share(2 * time.Minute), Patience: time.Second},
		func(_ context.Context, s *site, _ func()) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.delay = 1500 * time.Millisecond
		})
	if r.accusesNobody(t); r.err != nil || r.Undecided > 0 {
		t.Errorf("%d of %d rounds are unknown: %s: %v", r.Undecided, r.Episodes, r.Reason, r.err)
	}
}

// sleepThrough lets the run sleep as SIGSTOP does, for longer than its sessions last, while something happens to its
// root.
func sleepThrough(t *testing.T, s *site, happens func(c *goclient.Conn)) {
	back := s.leave()
	time.Sleep(8 * time.Second)
	s.Expire(s.admin)
	other, _, err := s.Connect(2 * time.Second)
	if err != nil {
		t.Error(err)
	}
	happens(other)
	back()
}

func cleanAll(t *testing.T, c recipes.Conn) {
	t.Helper()
	roots, err := FindLeftRoots(c, "/")
	if err != nil || len(roots) != 1 {
		t.Errorf("%d roots are left: %v", len(roots), err)
	}
	for _, r := range roots {
		r.Sessions = nil // the users' sessions have ended, too
		if err := r.Remove(c); err != nil {
			t.Error(err)
		}
	}
}

// A run whose root was removed while it slept touches nothing of what others have made there since, and judges
// nothing of what has come to pass there.
func TestRootIsLost(t *testing.T) {
	world := zk.WorldACL(zk.PermAll)
	for name, happens := range map[string]func(c *goclient.Conn){
		"something precious": func(c *goclient.Conn) {
			for _, p := range []string{"/root", "/root/precious", "/root/precious/deep"} {
				if _, err := c.Create(p, nil, 0, world); err != nil {
					t.Error(p, err)
				}
			}
		},
		"another run": func(c *goclient.Conn) {
			if _, err := claimRoot(c, "/root"); err != nil {
				t.Error(err)
			}
			if _, err := c.Create("/root/r0", []byte("its own"), 0, world); err != nil {
				t.Error(err)
			}
		},
		"nothing": func(*goclient.Conn) {},
	} {
		for _, hasty := range []bool{false, true} {
			var kept, after string
			r := onSite(t, find(t, "queue"), Config{Duration: time.Hour},
				func(ctx context.Context, s *site, interrupt func()) {
					sleepThrough(t, s, func(c *goclient.Conn) {
						cleanAll(t, c)
						happens(c)
					})
					kept = s.Dump("/")
					if hasty {
						interrupt()
					}
					<-ctx.Done()
					after = s.Dump("/")
				})
			if r.accusesNobody(t); !hasty && !errors.Is(r.err, ErrRootLost) {
				t.Errorf("%s: it ended with %v", name, r.err)
			}
			if after != kept {
				t.Errorf("%s: there was\n%s\nand now is\n%s", name, kept, after)
			}
		}
	}
}

// When the run's own session has ended it puts its root in use again, and goes on: as long as the sign is there nobody
// has removed anything.
func TestRootIsPutInUseAgain(t *testing.T) {
	var owner int64
	r := onSite(t, find(t, "queue"), Config{Duration: time.Minute}, func(_ context.Context, s *site, _ func()) {
		sleepThrough(t, s, func(*goclient.Conn) {})
		time.Sleep(10 * time.Second)
		c, _, _ := s.Connect(time.Second)
		if roots, err := FindLeftRoots(c, "/"); err != nil || len(roots) != 1 ||
			!slices.Contains(roots[0].Sessions, s.admin.SessionID()) {
			t.Errorf("roots %v, %v: none is in use by 0x%x", roots, err, s.admin.SessionID())
		}
		_, stat, _ := c.Exists("/root/" + inUse)
		owner = stat.EphemeralOwner
	})
	if r.accusesNobody(t); r.err != nil || owner == 0 || r.Undecided > 0 {
		t.Errorf("%d of %d rounds are unknown: %s: %v", r.Undecided, r.Episodes, r.Reason, r.err)
	}
}

// A run that slept while somebody has removed a part of its root, whatever part, knows that.
func TestRootIsRemovedInPart(t *testing.T) {
	for _, part := range []int{1, 3} {
		r := onSite(t, find(t, "queue"), Config{Duration: time.Hour}, func(ctx context.Context, s *site, _ func()) {
			sleepThrough(t, s, func(c *goclient.Conn) {
				left, err := ReadLeftRoot(c, "/root")
				if err != nil {
					t.Error(err)
				}
				left.Sessions = nil
				removed := 0
				if err := left.Remove(recipes.Around(c, func(op, p string, send func() error) error {
					if op == "delete" && p != "/root/"+inUse {
						if removed++; removed > part {
							return zk.ErrConnectionClosed
						}
					}
					return send()
				})); err == nil {
					t.Error("all of it was removed")
				}
			})
			<-ctx.Done()
		})
		if r.accusesNobody(t); !errors.Is(r.err, ErrRootLost) {
			t.Errorf("%d znodes: it ended with %v", part, r.err)
		}
	}
}

// failing is a client in a process that greets and dies.
type failing struct {
	worker.Remote // does nothing
	told          atomic.Int64
}

func (f *failing) Do(context.Context, worker.Call) (worker.Answer, error) {
	f.told.Add(1)
	return worker.Answer{}, errors.New("its process died before it had answered")
}

func (f *failing) Can(string) bool   { return false }
func (f *failing) Connected() bool   { return true }
func (f *failing) Alive() bool       { return true }
func (f *failing) ExpiriesSeen() int { return int(f.told.Load()) }
func (f *failing) Broken() int       { return 0 }
func (f *failing) SessionID() int64  { return 0xa }
func (f *failing) Close()            {}

// A run in which nothing has ever succeeded has tested nothing, and is no pass.
func TestNothingSucceeds(t *testing.T) {
	w, err := worker.Find("lock", "exec:exit")
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		s := newSite()
		r, err := Run(t.Context(), w, Config{Admin: s.open, Root: "/root", Seed: 1, Rounds: 20,
			Start: func(context.Context) (*Session, error) {
				return RemoteSession(&failing{}, s.admin), nil
			}})
		if err != nil || r.Verdict != sim.VerdictUnknown || !strings.Contains(r.Reason, "none of the ") ||
			r.Episodes != 20 {
			t.Errorf("%s after %d rounds: %s, %v%s", r.Verdict, r.Episodes, r.Reason, err, messages(r))
		}
	})
}

// messages are a result's violations, a line each.
func messages(r sim.Result) (text string) {
	for _, found := range r.Violations {
		text += "\n\t" + found.Message
	}
	return text
}
