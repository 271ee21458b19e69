package published

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// ZNodeName is the name of an ephemeral znode with an ordered sequence number, and is sorted by it. After
// org.apache.zookeeper.recipes.lock.ZNodeName, Apache ZooKeeper 3.4.6.
type ZNodeName struct {
	name     string
	prefix   string
	sequence int32 // -1 if the name has none
	czxid    int64 // of its creation, where numbers do not tell the order
	bugs     Bugs
}

// NewZNodeName splits a name at its last hyphen.
func NewZNodeName(name string, bugs Bugs) ZNodeName {
	z := ZNodeName{name: name, prefix: name, sequence: -1, bugs: bugs}
	idx := strings.LastIndexByte(name, '-')
	if !bugs.Has("W14") && idx > 0 && name[idx-1] == '-' { // BUG: W14 takes the sign of a number for the separator
		idx--
	}
	if idx >= 0 {
		z.prefix = name[:idx]
		// If this fails we misdetected a sequence suffix, so -1 stays.
		if n, err := strconv.ParseInt(name[idx+1:], 10, 32); err == nil { // BUG: W14 "2147483648" does not fit: -1
			z.sequence = int32(n)
		}
	}
	return z
}

// wrapped tells whether the sequence number may not be greater than all before it.
func (z ZNodeName) wrapped() bool { return wrapped(int64(z.sequence)) }

func (z ZNodeName) String() string { return z.name }

// CompareTo is negative, zero or positive as z comes before, with or after that.
func (z ZNodeName) CompareTo(that ZNodeName) int {
	if z.bugs.Has("W2") { // BUG: W2 the prefix, with the session id, goes before the sequence
		return cmp.Or(strings.Compare(z.prefix, that.prefix), z.compareSequence(that))
	}
	return cmp.Or(z.compareSequence(that), strings.Compare(z.prefix, that.prefix))
}

func (z ZNodeName) compareSequence(that ZNodeName) int {
	s1, s2 := z.sequence, that.sequence
	switch {
	case s1 == -1 && s2 == -1:
		return strings.Compare(z.name, that.name)
	case s1 == -1:
		return 1
	case s2 == -1:
		return -1
	}
	return cmp.Compare(s1, s2)
}

// sortedSet is a TreeSet of the names: sorted, one of those that compare equal.
func sortedSet(dir string, names []string, bugs Bugs) []ZNodeName {
	set := make([]ZNodeName, 0, len(names))
	for _, name := range slices.Sorted(slices.Values(names)) {
		set = append(set, NewZNodeName(dir+"/"+name, bugs))
	}
	slices.SortStableFunc(set, ZNodeName.CompareTo)
	return slices.CompactFunc(set, func(a, b ZNodeName) bool { return a.CompareTo(b) == 0 })
}

// headSet returns the elements of a sorted set that come before z.
func headSet(set []ZNodeName, z ZNodeName) []ZNodeName {
	i := slices.IndexFunc(set, func(e ZNodeName) bool {
		return e.name == z.name || e.czxid == 0 && e.CompareTo(z) >= 0
	})
	if i < 0 {
		return set
	}
	return set[:i]
}
