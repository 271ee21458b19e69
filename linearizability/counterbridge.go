package linearizability

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
)

// bridge yields configurations that come of c by additions of unknown outcome that make up the way to a number.
func (s *countSearch) bridge(c *configuration, to int64, yield func(configuration)) {
	way := to - c.state.(int64)
	if way == 0 {
		yield(*c)
		return
	}
	over := s.ways(c, way)
	for _, counts := range over.found[:min(len(over.found), s.breadth.bridges)] {
		taken := slices.Clone(c.taken)
		for k, n := range counts {
			taken[s.layout.sure+s.bridging[k]] += uint64(n)
		}
		yield(configuration{to, taken})
	}
	if over.lossy || len(over.found) > s.breadth.bridges {
		s.lossy = fmt.Sprintf("more than %d ways in which additions of unknown outcome can make up a number were "+
			"not looked at", s.breadth.bridges)
	}
}

// ways are the ways to make up a difference, those of the fewest additions first, or many of them.
type ways struct {
	found [][]int64 // how many of each of countSearch.bridging
	lossy bool
}

// What is remembered of ways.
const (
	waysMax        = 1 << 16 // so many differences
	waysAmountsMax = 8       // of so many amounts
)

// ways returns the ways to make up a difference with what is left of the amounts.
func (s *countSearch) ways(c *configuration, way int64) ways {
	b := &bridge{way: way, amounts: s.bridged}
	for _, class := range s.bridging {
		b.left = append(b.left, int64(s.called[class]-c.taken[s.layout.sure+class]))
	}
	b.limit()
	if len(b.left) > waysAmountsMax {
		return b.find()
	}
	key := binary.AppendVarint(make([]byte, 0, 64), way)
	for _, n := range b.left {
		key = binary.AppendVarint(key, n)
	}
	if known, found := s.known[string(key)]; found {
		return known
	}
	if len(s.known) >= waysMax {
		clear(s.known)
	}
	found := b.find()
	s.known[string(key)] = found
	return found
}

// bridge is a subset sum: amounts, each up to its number in left, that add up to way.
type bridge struct {
	way           int64
	amounts, left []int64
	// of the amounts from a place on
	divisor  []int64
	up, down []int64 // the sums of all that are positive, and of all that are negative

	counts []int64
	found  [][]int64
	nodes  int
	lossy  bool
}

// limit leaves no more of any amount than can be of use.
func (b *bridge) limit() {
	sizes := int64(0)
	for k, a := range b.amounts {
		if b.left[k] > 0 {
			sizes += size(a)
		}
	}
	for k, a := range b.amounts {
		b.left[k] = min(b.left[k], b.most(a, sizes))
	}
}

// find returns the ways to make it up of which no part can be left out.
func (b *bridge) find() ways {
	n := len(b.amounts)
	b.divisor, b.up, b.down, b.counts = make([]int64, n+1), make([]int64, n+1), make([]int64, n+1), make([]int64, n)
	for k := n - 1; k >= 0; k-- {
		b.divisor[k], b.up[k], b.down[k] = b.divisor[k+1], b.up[k+1], b.down[k+1]
		switch all := b.amounts[k] * b.left[k]; {
		case all > 0:
			b.up[k] += all
		case all < 0:
			b.down[k] += all
		}
		if b.left[k] > 0 {
			b.divisor[k] = gcd(size(b.amounts[k]), b.divisor[k])
		}
	}
	b.search(0, b.way)
	found := slices.DeleteFunc(b.found, func(x []int64) bool {
		return slices.ContainsFunc(b.found, func(y []int64) bool { return !slices.Equal(x, y) && noMore(y, x) })
	})
	slices.SortStableFunc(found, func(x, y []int64) int { return cmp.Compare(sum(x), sum(y)) })
	return ways{found, b.lossy}
}

// most is how many there can be of an amount, given the sum of all sizes. A part of which the sum is 0 can be left
// out, so that there are not more of two of different signs than it takes to make them equal, but for one of them,
// which makes up the way.
func (b *bridge) most(amount, sizes int64) int64 {
	most := 1 + 2*sizes
	if (amount > 0) == (b.way > 0) {
		most += size(b.way) / size(amount)
	}
	return most
}

func sum(counts []int64) (n int64) {
	for _, c := range counts {
		n += c
	}
	return n
}

func noMore(x, y []int64) bool {
	for k := range x {
		if x[k] > y[k] {
			return false
		}
	}
	return true
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// search makes up the rest of the way with the amounts from place k on.
func (b *bridge) search(k int, rest int64) {
	if rest == 0 {
		b.found = append(b.found, slices.Clone(b.counts))
		b.lossy = b.lossy || len(b.found) >= bridgesMax
	}
	if b.nodes++; b.nodes > bridgeNodes {
		b.lossy = true
	}
	if b.lossy || rest == 0 || k == len(b.amounts) || rest > b.up[k] || rest < b.down[k] || rest%b.divisor[k] != 0 {
		return
	}
	few := min(max(rest/b.amounts[k], 0), b.left[k])
	if k == len(b.amounts)-1 {
		if b.counts[k] = few; few*b.amounts[k] == rest {
			b.search(k+1, 0)
		}
		b.counts[k] = 0
		return
	}
	for n := few; n <= b.left[k] && !b.lossy; n++ { // first what comes nearest, then more, then less
		b.counts[k] = n
		b.search(k+1, rest-n*b.amounts[k])
	}
	for n := few - 1; n >= 0 && !b.lossy; n-- {
		b.counts[k] = n
		b.search(k+1, rest-n*b.amounts[k])
	}
	b.counts[k] = 0
}
