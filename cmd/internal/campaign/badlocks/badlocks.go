// Package badlocks has locks that do what a unit must not do, for tests.
package badlocks

import (
	"context"

	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/workload"
)

// That is a lock that does something each time it is locked, and then what it should.
func That(name string, does func()) workload.Entry {
	return workload.Entry{Recipe: name, Help: "for tests", New: func() *workload.Workload {
		return workload.Lock(func(c recipes.Conn, path string) workload.Locker {
			return badLock{recipes.NewLock(c, path), does}
		}, workload.Named(name))
	}}
}

type badLock struct {
	workload.Locker
	does func()
}

func (b badLock) Lock(ctx context.Context) error {
	b.does()
	return b.Locker.Lock(ctx)
}

var eaten [][]byte

// Eat takes memory until there is none.
func Eat() {
	for {
		eaten = append(eaten, make([]byte, 1<<20))
		for i := 0; i < 1<<20; i += 4096 {
			eaten[len(eaten)-1][i] = 1
		}
	}
}
