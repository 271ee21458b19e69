package command

import (
	"github.com/zktorture/zktorture/cmd/internal/campaign/badlocks"
	"github.com/zktorture/zktorture/workload"
)

// badLocks do what a unit must not do.
var badLocks = &workload.Kind{Name: "lock", Recipes: []workload.Entry{
	badlocks.That("good", func() {}), badlocks.That("freezes", freeze), badlocks.That("panics", mistake), badlocks.That("eats", badlocks.Eat),
}}

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
