package fakezk

import "github.com/zktorture/zktorture/fakezk/wire"

// Compat selects what differs between versions of ZooKeeper. The zero value is 3.8.0 as Debian
// 12 ships it, with the event filter of CVE-2024-23944 backported.
type Compat struct {
	// SequenceWraps lets a sequence counter go on from 2147483647 to -2147483648, as the Programmer's Guide
	// describes. Otherwise the counter sticks at 2147483647, which is what 3.8 does to clients that wait for each
	// answer: DataTree.createNode stores only a counter that is greater than the old one.
	SequenceWraps bool

	// NoEventACLFilter delivers watch events also to connections that may not read the node
	// (before 3.8.4 and 3.9.2; CVE-2024-23944).
	NoEventACLFilter bool

	// ExistsNeedsRead makes exists ask for the READ permission (3.8.4, 3.9.2; ZOOKEEPER-2590).
	ExistsNeedsRead bool

	// WatchModesApart keeps a persistent watch when the same connection sets a one-shot watch on
	// the same path (3.9.0; ZOOKEEPER-4466). Otherwise the newer watch replaces the older.
	WatchModesApart bool

	// VersionSkipsMinusOne makes a version that wraps go from -2 to 0, because -1 means "any" (ZOOKEEPER-4743).
	VersionSkipsMinusOne bool

	// NoOps36 takes away addWatch, setWatches2, getEphemerals, getAllChildrenNumber and multiRead, which came with 3.6.
	NoOps36 bool

	// NoWhoAmI takes away whoAmI, which came with 3.7.
	NoWhoAmI bool
}

// knows reports whether this version has an operation.
func (c Compat) knows(op wire.Op) bool {
	since, known := op.Known()
	return known && (since != "3.6" || !c.NoOps36) && (since != "3.7" || !c.NoWhoAmI)
}
