package foreign

import (
	"github.com/go-zookeeper/zk"
	"github.com/rs/zerolog"
	samuel "github.com/samuel/go-zookeeper/zk"

	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/workload"
)

// Kinds are the recipes as workloads, by kind: their clients are the unmodified client libraries.
func Kinds() (all []*workload.Kind) {
	zerolog.SetGlobalLevel(zerolog.Disabled) // gnmi-gateway's
	for _, r := range listed {
		entry := workload.Entry{Recipe: r.Name, Help: r.Module, New: r.workload}
		all = append(all, &workload.Kind{Name: r.Kind, Recipes: []workload.Entry{entry}})
	}
	return all
}

func init() { zk.DefaultLogger, samuel.DefaultLogger = silence{}, silence{} } // of those that connect by themselves

type silence struct{}

func (silence) Printf(string, ...any) {}

func (r Recipe) workload() *workload.Workload {
	if r.Kind == "election" {
		return of(r, workload.Election)
	}
	return of(r, workload.Lock)
}

func of[T any](
	r Recipe, kind func(new func(c recipes.Conn, path string) T, opts ...workload.Option) *workload.Workload,
) *workload.Workload {
	opts := append([]workload.Option{workload.Named(r.Name), workload.Existing()}, r.Terms...)
	if r.Dials != nil {
		return workload.Of(kind, func(s workload.Servers, path string) T { return r.Dials(s.Addresses, path).(T) }, opts...)
	}
	return workload.Of(kind, func(c *zk.Conn, path string) T { return r.New(c, path).(T) }, opts...)
}

// made is what a constructor returns that connects: it fails for its arguments only, and reaches the servers later.
func made[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
