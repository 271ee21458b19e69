package cluster

import (
	"context"
	"testing"

	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/recipes/cluster"
)

func TestCache(t *testing.T) {
	clean(t, Cache(func(c recipes.Conn, path string) Cacher { return cluster.NewCache(c, path) }))
}

// wrongCache is a cache of which one step is wrong.
type wrongCache struct {
	*cluster.Cache
	told []string
	next func(w *wrongCache, value string) string // nil: as it is
	deaf bool                                     // it does not hear of a third value
}

func (w *wrongCache) Next(ctx context.Context) ([]byte, error) {
	if w.deaf && len(w.told) == 2 {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	value, err := w.Cache.Next(ctx)
	if err != nil {
		return nil, err
	}
	told := w.next(w, string(value))
	w.told = append(w.told, told)
	return []byte(told), nil
}

func TestWrongCachesAreFound(t *testing.T) {
	asItIs := func(_ *wrongCache, value string) string { return value }
	for property, wrong := range map[string]wrongCache{
		"stale-watch": {next: asItIs, deaf: true},
		"phantom":     {next: func(_ *wrongCache, value string) string { return value + "!" }},
		"repeated": {next: func(w *wrongCache, value string) string {
			if len(w.told) == 1 {
				return w.told[0]
			}
			return value
		}},
		"backward": {next: func(w *wrongCache, value string) string {
			if len(w.told) == 2 {
				return w.told[0]
			}
			return value
		}},
	} {
		wantBroken(t, Cache(func(c recipes.Conn, path string) Cacher {
			w := wrong
			w.Cache = cluster.NewCache(c, path)
			return &w
		}), property)
	}
}
