package cluster

import (
	"context"
	"testing"

	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/recipes/cluster"
)

func TestIDs(t *testing.T) {
	clean(t, IDs(2, func(c recipes.Conn, path string) Leaser { return cluster.NewIDs(c, path, 2) }))
}

func TestShards(t *testing.T) {
	clean(t, Shards(func(c recipes.Conn, path string, shards []string) Sharer {
		return cluster.NewShards(c, path, shards)
	}))
}

// same leases the same number to everybody.
type same int64

func (n same) Lease(context.Context) (int64, error) { return int64(n), nil }
func (same) Free(context.Context) error             { return nil }

// untold is a lease whose user does not learn that it is lost.
type untold struct{ *cluster.IDs }

func (untold) Lost() <-chan struct{} { return nil }

func TestWrongIDsAreFound(t *testing.T) {
	wantBroken(t, IDs(2, func(recipes.Conn, string) Leaser { return same(1) }), "exclusion")
	wantBroken(t, IDs(2, func(recipes.Conn, string) Leaser { return same(2) }), "range")
	wantBroken(t, IDs(2, func(c recipes.Conn, path string) Leaser { return untold{cluster.NewIDs(c, path, 2)} }), "belief")
	wantBroken(t, IDs(2, func(c recipes.Conn, path string) Leaser { return hoarder{cluster.NewIDs(c, path, 2)} }), "progress")
}

// hoarder keeps its number.
type hoarder struct{ *cluster.IDs }

func (hoarder) Free(context.Context) error { return nil }

// partial has its share without its last shard.
type partial struct{ *cluster.Shards }

func (p partial) Share(ctx context.Context) ([]string, error) {
	own, err := p.Shards.Share(ctx)
	return own[:max(len(own)-1, 0)], err
}

// greedy has all shards beside what it owns.
type greedy struct {
	*cluster.Shards
	all []string
}

func (g greedy) Share(ctx context.Context) ([]string, error) {
	_, err := g.Shards.Share(ctx)
	return g.all, err
}

// deaf does not notice that members come.
type deaf struct{ *cluster.Shards }

func (d deaf) Stale(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestWrongShardsAreFound(t *testing.T) {
	of := func(wrong func(s *cluster.Shards, all []string) Sharer) func(recipes.Conn, string, []string) Sharer {
		return func(c recipes.Conn, path string, shards []string) Sharer {
			return wrong(cluster.NewShards(c, path, shards), shards)
		}
	}
	wantBroken(t, Shards(of(func(s *cluster.Shards, _ []string) Sharer { return partial{s} })), "unowned")
	wantBroken(t, Shards(of(func(s *cluster.Shards, all []string) Sharer { return greedy{s, all} })), "exclusion")
	wantBroken(t, Shards(of(func(s *cluster.Shards, _ []string) Sharer { return deaf{s} })), "progress")
}
