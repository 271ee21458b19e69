package command

import (
	"context"

	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/workload"
)

// badLocks do what a unit must not do.
var badLocks = &workload.Kind{Name: "lock", Recipes: []workload.Entry{
	bad("good", func() {}), bad("freezes", freeze), bad("panics", mistake), bad("eats", eat),
}}

func bad(name string, does func()) workload.Entry {
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

// Lock does what it does, and then what it should.
func (b badLock) Lock(ctx context.Context) error {
	b.does()
	return b.Locker.Lock(ctx)
}

// spun is how often a lock has gone round.
var spun int

func freeze() {
	for {
		spun++
	}
}

func mistake() {
	go panic("a mistake")
	select {}
}

var eaten [][]byte

func eat() {
	for {
		eaten = append(eaten, make([]byte, 1<<20))
		for i := 0; i < 1<<20; i += 4096 {
			eaten[len(eaten)-1][i] = 1
		}
	}
}
