package chaosproxy_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk/wire/strike"
	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/live/ensemble"
	"github.com/zktorture/zktorture/live/ensemble/ensembletest"
	"github.com/zktorture/zktorture/live/ensemble/proxy/chaosproxy"
	"github.com/zktorture/zktorture/live/zkclient"
)

// fixture is a client behind a link, and another that sees the truth.
type fixture struct {
	*testing.T
	ensemble *ensemble.Ensemble
	link     *chaosproxy.Link
	client   *zkclient.Client
	witness  *zkclient.Client

	mu     sync.Mutex
	struck []string
}

func newFixture(t *testing.T, e *ensemble.Ensemble) *fixture {
	t.Helper()
	f := &fixture{T: t, ensemble: e}
	var err error
	f.link, err = chaosproxy.NewLink(chaosproxy.LinkConfig{Servers: e.Servers()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.link.Close() })
	f.client, f.witness = ensembletest.Witness(t, f.link.Addr()), ensembletest.Witness(t, e.ConnectString())
	return f
}

// arm arms one fault and notes when it strikes.
func (f *fixture) arm(request int, x strike.Strike, lasts time.Duration) {
	x.ForMS = lasts.Milliseconds()
	f.link.Arm(strike.Plan{{Client: 1, Request: request}: x}, func(s strike.Strike) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.struck = append(f.struck, string(s.Fault)+" "+s.Variant)
	})
}

// variants are those in which a fault can strike.
func variants(of strike.Fault) (all []string) {
	for _, w := range strike.Ways(strike.OnLive) {
		if w.Fault == of {
			all = append(all, w.Variant)
		}
	}
	return all
}

// exists tells what the witness sees after everything that has been written.
func (f *fixture) exists(path string) bool {
	f.Helper()
	if _, err := f.witness.Sync("/"); err != nil {
		f.Fatal(err)
	}
	there, _, err := f.witness.Exists(path)
	if err != nil {
		f.Fatal(err)
	}
	return there
}

func (f *fixture) sawStrike(want ...string) {
	f.Helper()
	testkit.Until(f, "the strike "+want[len(want)-1], func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return len(f.struck) >= len(want)
	})
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range want {
		if f.struck[i] != want[i] {
			f.Errorf("strikes %q, not %q", f.struck, want)
			return
		}
	}
}

// The ways to lose a connection that torture proxy does not have leave the create done or not, as they say, and keep
// the session.
func TestLoss(t *testing.T) {
	e := ensembletest.Share(t, 3)
	for variant, want := range map[string]struct{ applied, error bool }{
		"later": {true, false}, "silence": {false, true}, "half": {false, true},
	} {
		t.Run(variant, func(t *testing.T) {
			f := newFixture(t, e)
			session := f.client.SessionID()
			f.arm(2, strike.Strike{Fault: strike.Loss, Variant: variant}, 200*time.Millisecond)
			if _, _, err := f.client.Exists("/"); err != nil {
				t.Fatal(err)
			}
			path := "/" + variant
			_, err := f.client.Create(path, nil, 0, zk.WorldACL(zk.PermAll))
			if (err != nil) != want.error || f.exists(path) != want.applied {
				t.Errorf("the create failed with %v, and is applied: %v", err, f.exists(path))
			}
			f.sawStrike("loss " + variant)
			testkit.Until(f, "another request", func() bool { _, _, err := f.client.Exists("/"); return err == nil })
			if f.client.SessionID() != session {
				t.Error("the session is another")
			}
			if end, over := f.link.SessionEnd(session); over {
				t.Errorf("the session is said to have ended at %v", end)
			}
		})
	}
}

// An expiry ends the session whatever its client knows.
func TestExpiry(t *testing.T) {
	e := ensembletest.Share(t, 3)
	for _, variant := range variants(strike.Expiry) {
		t.Run(variant, func(t *testing.T) {
			f := newFixture(t, e)
			old := f.client.SessionID()
			owned, next := "/owned-"+variant, "/next-"+variant
			if _, err := f.client.Create(owned, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll)); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			const unaware = 500 * time.Millisecond
			f.arm(1, strike.Strike{Fault: strike.Expiry, Variant: variant}, unaware)
			_, err := f.client.Create(next, nil, 0, zk.WorldACL(zk.PermAll))
			if err == nil || f.exists(next) != (variant == "after") {
				t.Errorf("the create failed with %v, and is applied: %v", err, f.exists(next))
			}
			testkit.Until(f, "the end of the ephemeral", func() bool { return !f.exists(owned) })
			testkit.Until(f, "another session", func() bool {
				_, _, err := f.client.Exists("/")
				return err == nil && f.client.SessionID() != old
			})
			if variant == "unaware" && time.Since(began) < unaware {
				t.Error("the client has learned it too soon")
			}
			end, over := f.link.SessionEnd(old)
			if !over || end.Before(began) || end.After(time.Now()) {
				t.Errorf("the session ended at %v, %v", end, over)
			}
			if since, known := f.link.SessionGone(old); !known || since.Before(end) {
				t.Errorf("the session was gone since %v, %v", since, known)
			}
			if _, known := f.link.SessionGone(f.client.SessionID()); known {
				t.Error("the new session is said to be gone")
			}
			if _, over := f.link.SessionEnd(f.client.SessionID()); over {
				t.Error("the new session is said to have ended")
			}
		})
	}
}

// A process that takes the place of one that was killed asks for another session, and the old one lives on.
func TestAnotherProcess(t *testing.T) {
	f := newFixture(t, ensembletest.Share(t, 3))
	next := ensembletest.Connect(t, zkclient.Config{Servers: f.link.Addr(), SessionTimeout: ensembletest.Lasting})
	if _, over := f.link.SessionEnd(f.client.SessionID()); !over || next.SessionID() == f.client.SessionID() {
		t.Error("there is no other session")
	}
	if since, known := f.link.SessionGone(f.client.SessionID()); known {
		t.Errorf("the session lives, and is said to be gone since %v", since)
	}
}

// sessions are those that the leader has, once it has the one whose id is newest: a follower answers what is committed,
// and the leader may apply it later.
func (f *fixture) sessions(newest int64) (ids []string) {
	f.Helper()
	testkit.Until(f, "the leader has the newest session", func() bool {
		ids = f.dumped()
		return slices.Contains(ids, fmt.Sprintf("0x%x", newest))
	})
	return ids
}

// dumped are the sessions that the leader tells now.
func (f *fixture) dumped() []string {
	f.Helper()
	for _, address := range f.ensemble.Servers() {
		c, err := net.Dial("tcp", address)
		if err != nil {
			f.Fatal(err)
		}
		io.WriteString(c, "dump")
		answer, err := io.ReadAll(c)
		c.Close()
		if err != nil {
			f.Fatal(err)
		}
		if _, sets, leads := strings.Cut(string(answer), "Global Sessions("); leads {
			return regexp.MustCompile("(?m)^0x[0-9a-f]+").FindAllString(sets, -1)
		}
	}
	f.Fatal("no server leads")
	return nil
}

// A client whose connect is not answered connects once more. A session that was begun so lives on with nobody; one
// that the client has goes on.
func TestAnswersGetLost(t *testing.T) {
	e := ensembletest.Share(t, 3)
	for kind, begun := range map[strike.Fault]int{strike.Loss: 0, strike.Expiry: 2} {
		t.Run(string(kind), func(t *testing.T) {
			f := newFixture(t, e)
			var greeted, granted atomic.Int64
			client := ensembletest.Connect(t, zkclient.Config{
				Servers: f.link.Addr(), SessionTimeout: ensembletest.Lasting, OnEvent: func(e zk.Event) {
					switch e.State {
					case zk.StateConnected:
						greeted.Add(1)
					case zk.StateHasSession:
						granted.Add(1)
					}
				},
			})
			f.client.Close()
			old := client.SessionID()
			before := f.sessions(old)
			f.arm(1, strike.Strike{Fault: kind, Variant: "answer"}, 0)
			if _, _, err := client.Exists("/"); err == nil {
				t.Error("the request was not lost")
			}
			testkit.Until(f, "another request", func() bool { _, _, err := client.Exists("/"); return err == nil })
			f.sawStrike(string(kind) + " answer")
			if vain := greeted.Load() - granted.Load(); vain < int64(1+begun/2) { // and one says that it has expired
				t.Errorf("%d connections came to nothing", vain)
			}
			after := slices.DeleteFunc(f.sessions(client.SessionID()), func(id string) bool { return slices.Contains(before, id) })
			if len(after) != begun || (client.SessionID() == old) != (begun == 0) {
				t.Errorf("sessions %v were begun; the client has 0x%x, and had 0x%x", after, client.SessionID(), old)
			}
			for _, name := range after {
				var id int64
				fmt.Sscanf(name, "0x%x", &id)
				if since, known := f.link.SessionGone(id); known {
					t.Errorf("session %s is said to be gone since %v", name, since)
				}
			}
		})
	}
}

// In silence that is longer than the timeout the session ends by itself, and not before it can have.
func TestSilence(t *testing.T) {
	f := newFixture(t, ensembletest.Share(t, 3))
	f.client.Close()
	const timeout = 3 * time.Second
	f.client = ensembletest.Connect(t, zkclient.Config{Servers: f.link.Addr(), SessionTimeout: timeout})
	testkit.Until(t, "the session has a znode", func() bool {
		_, err := f.client.Create("/owned", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
		return err == nil
	})
	old := f.client.SessionID()
	began := time.Now()
	f.arm(1, strike.Strike{Fault: strike.Loss, Variant: "silence"}, testkit.Hang)
	go f.client.Exists("/")
	f.sawStrike("loss silence")
	testkit.Until(f, "the end of the ephemeral", func() bool { return !f.exists("/owned") })
	gone := time.Now()
	f.link.Heal()
	testkit.Until(f, "another session", func() bool {
		_, _, err := f.client.Exists("/")
		return err == nil && f.client.SessionID() != old
	})
	end, over := f.link.SessionEnd(old)
	if !over || end.Before(began.Add(timeout/2)) || end.After(gone) {
		t.Errorf("the session was alive until %v, %v; its ephemeral was gone %v later", end, over, gone.Sub(end))
	}
}

// What a fault begins with happens before the request is forwarded.
func TestBegun(t *testing.T) {
	f := newFixture(t, ensembletest.Share(t, 3))
	called := errors.New("not called")
	plan := strike.Plan{{Client: 1, Request: 2}: {Fault: strike.Cancel}}
	f.link.Arm(plan, func(strike.Strike) {
		if called = nil; f.exists("/begun") {
			called = errors.New("called too late")
		}
	})
	f.client.Exists("/")
	if _, err := f.client.Create("/begun", nil, 0, zk.WorldACL(zk.PermAll)); err != nil || called != nil {
		t.Errorf("%v, %v", err, called)
	}
}
