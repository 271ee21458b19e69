package chaosproxy

import (
	"fmt"

	"github.com/zktorture/zktorture/fakezk/wire/strike"
)

// SeedFor returns a seed under which a client's first request draws a way of a fault, for not much longer than it lasts
// at least, and the next draw none.
func SeedFor(way string, every int, next int) uint64 {
	for seed := uint64(0); ; seed++ {
		l := strike.Lottery{Ways: strike.Ways(strike.OnProxy), Faults: strike.Faults(strike.OnProxy), Every: every, Seed: seed}
		what, due := l.Draw(1, 1)
		if !due || fmt.Sprint(what.Fault, " ", what.Variant) != way || what.Share > 1.2*what.Least {
			continue
		}
		for _, client := range []int{1, 2} {
			due = due && !l.DrawHello(client)
		}
		for request := 2; due && request <= next; request++ {
			_, more := l.Draw(1, request)
			due = !more
		}
		if due {
			return seed
		}
	}
}

// SeedForHello returns a seed under which the first answer to a client gets lost, and the next does not.
func SeedForHello(faults []strike.Fault, every int) uint64 {
	for seed := uint64(0); ; seed++ {
		l := strike.Lottery{Ways: strike.Ways(strike.OnProxy), Faults: faults, Every: every, Seed: seed}
		if l.DrawHello(1) && !l.DrawHello(2) {
			return seed
		}
	}
}
