package e2e

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/workload"
)

// ownKinds are what the program mytorture of the scripts has beside others: a recipe of an existing kind.
func ownKinds() []*workload.Kind {
	simple := workload.Entry{Recipe: "mine", Help: "a lock of one's own", New: func() *workload.Workload {
		return workload.Lock(func(c recipes.Conn, path string) workload.Locker {
			return recipes.NewSimpleWatchLock(c, path)
		}, workload.Named("mine"), workload.Unfair())
	}}
	return []*workload.Kind{{Name: "lock", Recipes: []workload.Entry{simple, rude("leaves", func() { os.Exit(0) }),
		rude("fatal", func() { log.Fatal("no lock for you") }), rude("prints", func() { fmt.Println("hello") })}}}
}

// rude is a lock that does something first that a library must not do.
func rude(name string, does func()) workload.Entry {
	return workload.Entry{Recipe: name, Help: "a rude lock", New: func() *workload.Workload {
		return workload.Lock(func(c recipes.Conn, path string) workload.Locker {
			return rudeLock{recipes.NewLock(c, path), does}
		}, workload.Named(name))
	}}
}

type rudeLock struct {
	workload.Locker
	does func()
}

func (r rudeLock) Lock(ctx context.Context) error {
	r.does()
	return r.Locker.Lock(ctx)
}
