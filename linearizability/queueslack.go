package linearizability

import "sort"

// slack is, for every number j of removals of unknown outcome, how many of the first j are left over if only they
// have been called: j less the demands of that time. Time j lasts from the call of removal j until that of the next,
// and what counts are the demands at its end.
//
// It is a tree over the differences between one j and the next, in which the demands of all times up to one can be
// changed at once, and the least slack from one on is found, both in logarithmic time.
type slack struct {
	lost  []mark
	leafs int
	sum   []int // of the differences below a node
	least []int // the least sum of differences from one below the node to the node's last
}

func newSlack(lost []mark) *slack {
	s := &slack{lost: lost, leafs: 1}
	for s.leafs < len(lost)+2 {
		s.leafs *= 2
	}
	s.sum, s.least = make([]int, 2*s.leafs), make([]int, 2*s.leafs)
	for j := range len(lost) + 1 {
		s.sum[s.leafs+j] = -1
	}
	s.sum[s.leafs+len(lost)] = len(lost)
	copy(s.least[s.leafs:], s.sum[s.leafs:])
	for node := s.leafs - 1; node > 0; node-- {
		s.pull(node)
	}
	return s
}

// pull works out a node from the two below it.
func (s *slack) pull(node int) {
	left, right := 2*node, 2*node+1
	s.sum[node] = s.sum[left] + s.sum[right]
	s.least[node] = min(s.least[right], s.sum[right]+s.least[left])
}

// calledBy is how many removals were called by time t.
func (s *slack) calledBy(t int64) int {
	return sort.Search(len(s.lost), func(i int) bool { return s.lost[i].at > t })
}

// always changes the slack of all times.
func (s *slack) always(by int) { s.upTo(len(s.lost), by) }

// until changes the slack of the times that end after t: it is a demand of deadline t.
func (s *slack) until(t int64, by int) {
	if t == Forever {
		return
	}
	s.always(by)
	if j := s.calledBy(t); j > 0 {
		s.upTo(j-1, -by)
	}
}

// upTo changes the slack of the times 0 to j.
func (s *slack) upTo(j, by int) {
	node := s.leafs + j
	s.sum[node] += by
	s.least[node] += by
	for node /= 2; node > 0; node /= 2 {
		s.pull(node)
	}
}

// from returns the least slack of the times that end after p.
func (s *slack) from(p int64) int {
	node := s.leafs + s.calledBy(p)
	least := s.least[node]
	for ; node > 1; node /= 2 {
		if right := node + 1; node%2 == 0 {
			least = min(s.least[right], s.sum[right]+least)
		}
	}
	return least
}
