package chaosproxy

import "fmt"

// Variants are all ways of all faults.
func Variants() (names []string) {
	for _, v := range variants {
		names = append(names, v.fault+" "+v.name)
	}
	return names
}

// SeedFor returns a seed under which a client's first request draws a way of a fault, and the next draw none.
func SeedFor(way string, odds Odds, next int) uint64 {
	for seed := uint64(0); ; seed++ {
		cfg := Config{Faults: Names, Odds: odds, Seed: seed}
		what, due := cfg.draw(1, 1, 0)
		if !due || fmt.Sprint(what.fault, " ", what.name) != way {
			continue
		}
		for request := 2; due && request <= next; request++ {
			_, more := cfg.draw(1, request, 0)
			due = !more
		}
		if due {
			return seed
		}
	}
}
