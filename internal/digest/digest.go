// Package digest hashes what a state consists of. Equal sequences of calls give equal sums, on every machine.
package digest

import "fmt"

// Sum is a hash under construction. The zero value is empty.
type Sum uint64

// Int adds a number.
func (s *Sum) Int(x int64) { *s = Sum(Mix(uint64(*s) ^ uint64(x))) }

// Ints adds several.
func (s *Sum) Ints(all ...int64) {
	for _, x := range all {
		s.Int(x)
	}
}

// Bool adds a truth value.
func (s *Sum) Bool(b bool) {
	if b {
		s.Int(1)
	} else {
		s.Int(2)
	}
}

// Text adds a string with its length, so that what follows cannot be taken for a part of it.
func (s *Sum) Text(t string) { addText(s, t) }

// Bytes adds bytes. Nil and empty are the same.
func (s *Sum) Bytes(b []byte) { addText(s, b) }

// Texts adds a list of strings.
func (s *Sum) Texts(list []string) {
	s.Int(int64(len(list)))
	for _, t := range list {
		s.Text(t)
	}
}

func addText[T string | []byte](s *Sum, t T) {
	h := uint64(*s)
	for i := range len(t) {
		h = (h ^ uint64(t[i])) * 1099511628211 // 64-bit FNV-1a
	}
	*s = Sum(Mix(h ^ uint64(len(t))))
}

// Mix is the finalizer of splitmix64 (Steele, Lea, Flood, OOPSLA 2014): each bit of the result depends on all of x.
func Mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Hex is a hash as people read it.
func Hex(h uint64) string { return fmt.Sprintf("%016x", h) }
