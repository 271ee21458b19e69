package chaosproxy_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"golang.org/x/sync/errgroup"

	"github.com/zktorture/zktorture/fakezk/wire/strike"
	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/live/ensemble/ensembletest"
	"github.com/zktorture/zktorture/live/ensemble/proxy/chaosproxy"
	"github.com/zktorture/zktorture/live/zkclient"
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

// An ordinary client meets everything that there is, and what it was told of its writes is true.
func TestOrdinaryClients(t *testing.T) {
	e := ensembletest.Share(t, 3)
	p, noted := newProxy(t, chaosproxy.Config{Servers: e.Servers(), Faults: strike.Faults(strike.OnProxy),
		Every: 25, Seed: 1})
	ctx, all := testkit.Context(t), len(strike.Ways(strike.OnProxy))
	var clients errgroup.Group
	writes := make([]map[string]error, 8)
	for i := range writes {
		clients.Go(func() (err error) {
			writes[i], err = ordinary(ctx, p.Addr(), i, func() bool { return len(noted.ways()) == all })
			return err
		})
	}
	if err := clients.Wait(); err != nil {
		t.Fatal(err)
	}
	if got := noted.ways(); len(got) != all {
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
	e := ensembletest.Share(t, 3)
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
