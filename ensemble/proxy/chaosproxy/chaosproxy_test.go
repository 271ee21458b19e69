package chaosproxy_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"github.com/zktorture/zktorture/ensemble/proxy/chaosproxy"
	"github.com/zktorture/zktorture/fakezk"
	"github.com/zktorture/zktorture/fakezk/fakezktest"
	"github.com/zktorture/zktorture/fakezk/server"
	"github.com/zktorture/zktorture/internal/await"
	"github.com/zktorture/zktorture/internal/ensembletest"
	"github.com/zktorture/zktorture/wire"
	"github.com/zktorture/zktorture/wire/strike"
	"github.com/zktorture/zktorture/zkclient"
)

// diary notes what struck.
type diary struct {
	mu      sync.Mutex
	strikes []strike.Strike
}

func (d *diary) note(s strike.Strike) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.strikes = append(d.strikes, s)
}

// ways is how often each way of each fault struck.
func (d *diary) ways() map[string]int {
	d.mu.Lock()
	defer d.mu.Unlock()
	times := map[string]int{}
	for _, s := range d.strikes {
		times[string(s.Fault)+" "+s.Variant]++
	}
	return times
}

func newProxy(t *testing.T, cfg chaosproxy.Config) (*chaosproxy.Proxy, *diary) {
	t.Helper()
	var noted diary
	cfg.Struck = noted.note
	p, err := chaosproxy.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p, &noted
}

// stubborn is a client that makes requests one after the other, each once, whatever happens.
type stubborn struct {
	address  string
	conn     net.Conn
	session  int64
	password []byte
}

// next makes a request. It is no error if the reply does not come.
func (c *stubborn) next(ctx context.Context, xid int32) error {
	for c.conn == nil {
		if err := ctx.Err(); err != nil {
			return err
		}
		c.connect()
	}
	c.conn.SetDeadline(time.Now().Add(time.Second)) // there are requests without a reply
	_, err := c.conn.Write(wire.AppendFrame(nil, &wire.RequestHeader{Xid: xid, Op: wire.OpExists},
		&wire.WatchRequest{Path: "/"}))
	if err == nil {
		_, err = wire.ReadFrame(c.conn, nil, wire.FrameMax)
	}
	if err != nil {
		c.conn.Close()
		c.conn = nil
	}
	return nil
}

// connect goes on with the session, or opens one if it has expired.
func (c *stubborn) connect() {
	conn, err := net.Dial("tcp", c.address)
	if err != nil {
		return
	}
	conn.SetDeadline(await.Deadline())
	hello := wire.ConnectRequest{Session: c.session, Password: c.password}
	var granted wire.ConnectResponse
	_, err = conn.Write(wire.AppendFrame(nil, &hello))
	if err == nil {
		var frame []byte
		if frame, err = wire.ReadFrame(conn, nil, wire.FrameMax); err == nil {
			_, err = wire.Parse(frame, &granted)
		}
	}
	if err != nil {
		conn.Close()
		return
	}
	c.session, c.password = granted.Session, granted.Password
	if c.session == 0 {
		c.password = make([]byte, 16)
		conn.Close()
		return
	}
	c.conn = conn
}

// Equal seeds and equal clients meet equal faults, on other servers too; another seed brings others. The servers' ticks
// last for years, so that no session ends because the machine is busy.
func TestEqualClientsEqualFaults(t *testing.T) {
	story := func(nodes int, seed uint64) (told []string) {
		s := fakezktest.Start(t, server.Config{Ensemble: fakezk.Config{
			Replicas: nodes, Tick: 1 << 41, MinSession: 400, MaxSession: 400,
		}})
		p, noted := newProxy(t, chaosproxy.Config{
			Servers: strings.Split(s.ConnectString(), ","), Faults: []strike.Fault{strike.Loss, strike.Expiry, strike.Hold},
			Odds: strike.Odds{Every: 10}, Seed: seed,
		})
		c := &stubborn{address: p.Addr(), password: make([]byte, 16)}
		for i := range int32(200) {
			if err := c.next(t.Context(), i+1); err != nil {
				t.Fatal(err)
			}
		}
		if got := p.Stats(); got.Requests != 200 || got.Total() != len(noted.strikes) {
			t.Errorf("%+v, and %d strikes were told", got, len(noted.strikes))
		}
		for _, s := range noted.strikes {
			told = append(told, fmt.Sprintf("client %d request %d: %s %s %d ms at %s %s", s.Client, s.Request, s.Fault,
				s.Variant, s.ForMS, s.Op, s.Path))
		}
		return told
	}
	first := story(1, 3)
	if len(first) < 5 {
		t.Errorf("too little struck: %q", first)
	}
	if diff := cmp.Diff(first, story(3, 3)); diff != "" {
		t.Error(diff)
	}
	if other := story(1, 4); slices.Equal(first, other) {
		t.Error("another seed brings the same")
	}
}

// An ordinary client meets everything that there is, and what it was told of its writes is true.
func TestOrdinaryClients(t *testing.T) {
	e := ensembletest.Share(t, 3)
	p, noted := newProxy(t, chaosproxy.Config{Servers: e.Servers(), Faults: chaosproxy.Faults,
		Odds: strike.Odds{Every: 25}, Seed: 1})
	ctx := await.Context(t)
	var clients errgroup.Group
	writes := make([]map[string]error, 8)
	for i := range writes {
		clients.Go(func() (err error) {
			writes[i], err = ordinary(ctx, p.Addr(), i, func() bool { return len(noted.ways()) == 13 })
			return err
		})
	}
	if err := clients.Wait(); err != nil {
		t.Fatal(err)
	}
	if got := noted.ways(); len(got) != 13 {
		t.Errorf("struck: %v", got)
	}
	t.Logf("%+v", p.Stats())
	witness := ensembletest.Witness(t, e.ConnectString())
	if _, err := witness.Sync("/"); err != nil {
		t.Fatal(err)
	}
	lied := 0
	for _, told := range writes {
		for path, err := range told {
			if exists, _, seen := witness.Exists(path); seen != nil || err == nil && !exists {
				lied++
			}
		}
	}
	if lied > 0 {
		t.Errorf("%d writes were confirmed and are not there", lied)
	}
}

// ordinary writes, reads and watches until it has seen enough, and returns what it was told of its writes.
func ordinary(ctx context.Context, address string, number int, enough func() bool) (map[string]error, error) {
	c, err := zkclient.Connect(address, time.Second)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	told := map[string]error{}
	r := rand.New(rand.NewPCG(uint64(number), 0))
	for i := 0; !enough(); i++ {
		if ctx.Err() != nil {
			return nil, errors.New("too little has struck")
		}
		path := fmt.Sprintf("/%d-%d", number, i)
		_, told[path] = c.Create(path, nil, 0, zk.WorldACL(zk.PermAll))
		if _, _, changed, err := c.GetW(path); err == nil && r.IntN(2) == 0 {
			c.Set(path, []byte("x"), -1)
			awaitEvent(changed)
		}
	}
	return told, nil
}

// awaitEvent waits for an event, but not for ever: a watch may have been lost with its connection.
func awaitEvent(changed <-chan zk.Event) {
	patience := time.NewTimer(time.Second)
	defer patience.Stop()
	select {
	case <-changed:
	case <-patience.C:
	}
}

// Without faults it is a plain proxy.
func TestNone(t *testing.T) {
	e := ensembletest.Share(t, 1)
	p, noted := newProxy(t, chaosproxy.Config{Servers: e.Servers()})
	c := ensembletest.Witness(t, p.Addr())
	for i := range 200 {
		if _, err := c.Create(fmt.Sprintf("/%d", i), nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
			t.Fatal(err)
		}
	}
	if got := p.Stats(); got.Open != 1 || got.Clients != 1 || got.Requests != 200 || len(noted.strikes) > 0 {
		t.Errorf("%+v, %v", got, noted.strikes)
	}
}
