package cluster

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/internal/testkit"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/recipes/cluster"
	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/workload"
)

// poller is a value that is asked for every second, and set again until that is answered: a value may be written twice.
type poller struct {
	conn recipes.Conn
	path string
	told int64
}

func (p *poller) again(ctx context.Context, do func() error) error {
	for {
		err := do()
		if answers := []error{nil, zk.ErrNoNode, zk.ErrNodeExists}; slices.Contains(answers, err) || ctx.Err() != nil {
			return err
		}
		p.wait(ctx)
	}
}

func (p *poller) wait(ctx context.Context) error {
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
	}
	return ctx.Err()
}

func (p *poller) Set(ctx context.Context, value []byte) error {
	return p.again(ctx, func() error {
		_, err := p.conn.Set(p.path, value, -1)
		if errors.Is(err, zk.ErrNoNode) {
			_, err = p.conn.Create(p.path, value, 0, zk.WorldACL(zk.PermAll))
		}
		if errors.Is(err, zk.ErrNodeExists) {
			return errors.New("it is there by now")
		}
		return err
	})
}

func (p *poller) Unset(ctx context.Context) error {
	err := p.again(ctx, func() error { return p.conn.Delete(p.path, -1) })
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	return err
}

func (p *poller) Next(ctx context.Context) (value []byte, err error) {
	for {
		value, stat, err := p.conn.Get(p.path)
		if err == nil && stat.Mzxid > p.told {
			p.told = stat.Mzxid
			return value, nil
		}
		if err := p.wait(ctx); err != nil {
			return nil, err
		}
	}
}

// pushed is a cache whose own goroutine reads, from the first Next to Close.
type pushed struct {
	*cluster.Cache
	begin  sync.Once
	ctx    context.Context
	close  context.CancelFunc
	values chan []byte
}

func newPushed(c recipes.Conn, path string) *pushed {
	p := &pushed{Cache: cluster.NewCache(c, path), values: make(chan []byte)}
	p.ctx, p.close = context.WithCancel(context.Background())
	return p
}

func (p *pushed) Close() { p.close() }

func (p *pushed) Next(ctx context.Context) ([]byte, error) {
	p.begin.Do(func() { go p.read() })
	select {
	case value := <-p.values:
		return value, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pushed) read() {
	for {
		value, err := p.Cache.Next(p.ctx)
		if err != nil {
			return
		}
		select {
		case p.values <- value:
		case <-p.ctx.Done():
			return
		}
	}
}

// Recipes of other styles are not accused.
func TestOtherStylesAreNotAccused(t *testing.T) {
	for name, w := range map[string]*workload.Workload{
		"polls":  Cache(func(c recipes.Conn, path string) Cacher { return &poller{conn: c, path: path} }),
		"pushes": Cache(func(c recipes.Conn, path string) Cacher { return newPushed(c, path) }, workload.Closing()),
	} {
		r, err := sim.Run(t.Context(), w, sim.Config{Episodes: testkit.Share(testkit.Sized(300, 3000)), Seed: 1})
		if err != nil || r.Verdict != sim.VerdictOK {
			t.Errorf("%s: %s (%s), %v", name, r.Verdict, r.Reason, err)
		}
		for _, found := range r.Violations {
			t.Errorf("%s\n%s", name, found.Story(w))
		}
	}
}
