package chaosproxy_test

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk/wire"
	"github.com/zktorture/zktorture/fakezk/wire/strike"
	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/live/ensemble/ensembletest"
	"github.com/zktorture/zktorture/live/ensemble/proxy/chaosproxy"
	"github.com/zktorture/zktorture/live/zkclient"
)

// victim is a client by hand, whose first request draws a fault.
type victim struct {
	*testing.T
	address string
	timeout time.Duration // of its session
	conn    net.Conn
	session wire.ConnectResponse
	witness *zkclient.Client
	base    string
	proxy   *chaosproxy.Proxy
	noted   *diary
}

// connect opens a connection, with the session if there is one; false if it is ended.
func (v *victim) connect() bool {
	v.Helper()
	conn, err := net.Dial("tcp", v.address)
	if err != nil {
		return false
	}
	v.Cleanup(func() { conn.Close() })
	v.conn = conn
	hello := wire.ConnectRequest{Timeout: int32(v.timeout.Milliseconds()), Session: v.session.Session,
		Password: v.session.Password}
	if hello.Session == 0 {
		hello.Password = make([]byte, 16)
	}
	conn.Write(wire.AppendFrame(nil, &hello))
	frame, err := v.receive(testkit.Hang)
	if err != nil {
		return false
	}
	if _, err := wire.Parse(frame, &v.session); err != nil {
		v.Fatal(err)
	}
	return true
}

func (v *victim) receive(patience time.Duration) ([]byte, error) {
	v.conn.SetReadDeadline(time.Now().Add(patience))
	return wire.ReadFrame(v.conn, nil, wire.FrameMax)
}

// create asks for an ephemeral znode.
func (v *victim) create(name string) {
	v.conn.Write(wire.AppendFrame(nil, &wire.RequestHeader{Xid: 1, Op: wire.OpCreate},
		&wire.CreateRequest{Path: v.base + name, ACL: zk.WorldACL(zk.PermAll), Flags: zk.FlagEphemeral}))
}

func (v *victim) ping() {
	v.conn.Write(wire.AppendFrame(nil, &wire.RequestHeader{Xid: wire.XidPing, Op: wire.OpPing}))
}

// ended sees that the connection is ended, and nothing comes before.
func (v *victim) ended() {
	v.Helper()
	if frame, err := v.receive(testkit.Hang); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		v.Errorf("% x, %v came instead of the end", frame, err)
	}
}

// nothing sees that nothing comes for a while, and the connection stays.
func (v *victim) nothing() {
	v.Helper()
	if frame, err := v.receive(500 * time.Millisecond); !errors.Is(err, os.ErrDeadlineExceeded) {
		v.Errorf("% x, %v came instead of nothing", frame, err)
	}
}

// answered sees that something comes.
func (v *victim) answered() {
	v.Helper()
	if _, err := v.receive(testkit.Hang); err != nil {
		v.Error(err)
	}
}

// created sees whether the znode is there.
func (v *victim) created(name string, want bool) {
	v.Helper()
	v.witness.Sync("/")
	if exists, _, err := v.witness.Exists(v.base + name); err != nil || exists != want {
		v.Errorf("created: %v, %v; want %v", exists, err, want)
	}
}

// comeBack connects again, when it can.
func (v *victim) comeBack() {
	v.Helper()
	testkit.Until(v.T, "it is let in again", v.connect)
}

// stale sees that the server still waits for the client.
func (v *victim) stale() {
	v.Helper()
	if open := v.proxy.Stats().Open; open != 1 {
		v.Errorf("%d connections are open", open)
	}
}

// expired sees whether the session has gone, when the client comes back with it.
func (v *victim) expired(want bool) {
	v.Helper()
	v.comeBack()
	if (v.session.Session == 0) != want {
		v.Errorf("session 0x%x; expired should be %v", v.session.Session, want)
	}
}

func (v *victim) lasts() time.Duration {
	v.noted.mu.Lock()
	defer v.noted.mu.Unlock()
	return time.Duration(v.noted.strikes[0].ForMS) * time.Millisecond
}

// What each effect does, a client and the servers see: by a way of a fault that has it.
func TestEachWay(t *testing.T) {
	e := ensembletest.Share(t, 3)
	const every = 30
	const lasting, short = 8 * time.Second, time.Second // of sessions: their clients do not ping
	seen := map[string]func(v *victim, began time.Time){
		"loss before": func(v *victim, _ time.Time) { v.ended(); v.created("a", false); v.expired(false) },
		"loss after":  func(v *victim, _ time.Time) { v.ended(); v.created("a", true); v.expired(false) },
		"loss idle":   func(v *victim, _ time.Time) { v.answered(); v.ping(); v.ended(); v.created("a", true) },
		"loss half":   func(v *victim, _ time.Time) { v.ended(); v.created("a", false); v.stale(); v.expired(false) },
		"loss deaf":   func(v *victim, _ time.Time) { v.nothing(); v.created("a", false); v.expired(false) },
		"loss answer": func(v *victim, _ time.Time) {
			v.ended()
			v.created("a", false)
			if v.connect() {
				v.Error("the answer was not lost")
			}
			v.expired(false)
		},
		"hold short": func(v *victim, began time.Time) {
			v.answered()
			if took := time.Since(began); took < v.lasts() {
				v.Errorf("it was held for %v, and not for %v", took, v.lasts())
			}
			v.created("a", true)
		},
		"hold long": func(v *victim, began time.Time) {
			v.ended()
			if took := time.Since(began); took < v.lasts() {
				v.Errorf("it was held for %v, and not for %v", took, v.lasts())
			}
			v.created("a", false)
			v.expired(true)
		},
		"refuse ": func(v *victim, began time.Time) {
			v.ended()
			v.comeBack()
			if took := time.Since(began); took < v.lasts() {
				v.Errorf("it was refused for %v, and not for %v", took, v.lasts())
			}
			v.created("a", false)
		},
		"ignore ": func(v *victim, began time.Time) {
			v.ended()
			if v.connect() {
				v.Error("it was let in")
			}
			if took := time.Since(began); took < v.lasts() {
				v.Errorf("it was ignored for %v, and not for %v", took, v.lasts())
			}
			v.comeBack()
		},
		"watch held": func(v *victim, _ time.Time) {
			v.answered()
			changed := v.watched()
			v.answered()
			if took := time.Since(changed); took < v.lasts() {
				v.Errorf("the event came after %v, and not after %v", took, v.lasts())
			}
		},
		"watch lost":    func(v *victim, _ time.Time) { v.answered(); v.watched(); v.ended(); v.expired(false) },
		"expiry before": func(v *victim, _ time.Time) { v.ended(); v.created("a", false); v.expired(true) },
		"expiry after":  func(v *victim, _ time.Time) { v.ended(); v.created("a", false); v.expired(true) },
	}
	witness := ensembletest.Witness(t, e.ConnectString())
	for i, way := range slices.Sorted(maps.Keys(seen)) {
		t.Run(way, func(t *testing.T) {
			p, noted := newProxy(t, chaosproxy.Config{Servers: e.Servers(), Faults: strike.Faults(strike.OnProxy), Every: every,
				Seed: chaosproxy.SeedFor(way, every, 5)})
			v := &victim{T: t, address: p.Addr(), timeout: lasting, witness: witness, base: "/" + string(rune('A'+i)), proxy: p,
				noted: noted}
			if way == "hold long" {
				v.timeout = short
			}
			if !v.connect() {
				t.Fatal("no session")
			}
			began := time.Now()
			v.create("a")
			seen[way](v, began)
			if got := noted.ways(); got[way] != 1 || len(got) != 1 {
				t.Errorf("told: %v", got)
			}
		})
	}
}

// A client whose first connect is not answered gets another session.
func TestHello(t *testing.T) {
	e := ensembletest.Share(t, 3)
	const every = 3
	faults := []strike.Fault{strike.Loss}
	p, noted := newProxy(t, chaosproxy.Config{Servers: e.Servers(), Faults: faults, Every: every,
		Seed: chaosproxy.SeedForHello(faults, every)})
	v := &victim{T: t, address: p.Addr(), timeout: ensembletest.Lasting, proxy: p, noted: noted}
	if v.connect() {
		t.Error("the answer was not lost")
	}
	v.comeBack()
	noted.mu.Lock()
	defer noted.mu.Unlock()
	if len(noted.strikes) != 1 {
		t.Fatalf("told: %+v", noted.strikes)
	}
	s := noted.strikes[0]
	if s.Variant != strike.Answer || s.Client != 1 || s.Request != strike.Hello || s.Server != e.Servers()[0] ||
		s.Session == "0x0" || s.Session == fmt.Sprintf("0x%x", v.session.Session) {
		t.Errorf("told: %+v; the session is 0x%x", s, v.session.Session)
	}
	if clients := p.Stats().Clients; clients != 2 {
		t.Errorf("%d clients have begun sessions", clients)
	}
}

// watched sets a watch, lets it fire, and returns when that was.
func (v *victim) watched() time.Time {
	v.Helper()
	v.conn.Write(wire.AppendFrame(nil, &wire.RequestHeader{Xid: 2, Op: wire.OpExists},
		&wire.WatchRequest{Path: v.base + "w", Watch: true}))
	v.answered()
	changed := time.Now()
	if _, err := v.witness.Create(v.base+"w", nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
		v.Fatal(err)
	}
	return changed
}
