// Package digest hashes what a state consists of. Equal sequences of calls give equal sums, on every machine.
package digest

import "fmt"

// Sum is a hash under construction. The zero value is empty.
type Sum uint64

// Int adds a number.
func (s *Sum) Int(x int64) { *s = Sum(Mix(uint64(*s) ^ uint64(x))) }

// Mix is the finalizer of splitmix64 (Steele, Lea, Flood, OOPSLA 2014): each bit of the result depends on all of x.
func Mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Hex is a hash as people read it.
func Hex(h uint64) string { return fmt.Sprintf("%016x", h) }
