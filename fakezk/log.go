package fakezk

import (
	"math"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk/wire"
)

// Change is one elementary change at the moment at which the leader commits it.
type Change struct {
	Zxid    int64
	Time    int64   // ms since 1970
	Op      wire.Op // OpCreate, OpDelete, OpSetData, OpSetACL, OpReconfig, OpCreateSession or OpCloseSession
	Path    string  // "" for sessions
	Session int64   // that asked for it, or that has ended; 0: Admin, or a container or TTL node that was reaped
	Owner   int64   // the session that an ephemeral node belongs to; 0 for all others
	Data    []byte  // what OpCreate, OpSetData and OpReconfig wrote; not to be changed

	Sequential bool // OpCreate: the server has made the name, by a number

	End      CounterEnd // which counter has come to its end by the change, …
	EndsWith string     // … and of which node
}

// CounterEnd says which 32-bit counter of a node has come to its end, so that the server does otherwise than before.
type CounterEnd uint8

// The ends.
const (
	EndNone     CounterEnd = iota
	EndSticks              // the number of the next sequential child stays, and pzxid, which setWatches compares
	EndNumbers             // that number goes on from 2147483647 to -2147483648
	EndVersion             // the version goes on so
	EndAversion            // the version of the ACL does
	EndCversion            // the version of the children does
)

// endOf returns which counter comes to its end by an edit that the leader carries out: a creation is done, nothing else is.
func endOf(x *edit, n *node, zxid int64) (end CounterEnd, path string) {
	switch x.op {
	case wire.OpCreate:
		p := n.parent
		switch {
		case p.pzxid != zxid:
			return EndSticks, p.path
		case p.created == math.MinInt32:
			return EndNumbers, p.path
		case p.stat().Cversion == math.MinInt32:
			return EndCversion, p.path
		}
	case wire.OpDelete:
		if n.parent.stat().Cversion == math.MaxInt32 {
			return EndCversion, n.parent.path
		}
	case wire.OpSetData:
		if n.version == math.MaxInt32 {
			return EndVersion, n.path
		}
	case wire.OpSetACL:
		if n.aversion == math.MaxInt32 {
			return EndAversion, n.path
		}
	}
	return EndNone, ""
}

// edit is an elementary change in the log. It is valid on the tree that the log has built so far: applying it cannot
// fail.
type edit struct {
	op    wire.Op
	path  string
	data  []byte
	acl   []zk.ACL
	owner int64 // create: ephemeralOwner; sessions: the session; setData: Since; opSetSequence: the counter; opSetVersions: both

	sequential bool // create: see Change
}

// opSetSequence and opSetVersions are in the log only, see SetSequence and SetVersions.
const opSetSequence, opSetVersions wire.Op = -1000, -1001

// transaction is one entry of the log. It has no edits if the request failed: a failed write has a zxid too.
type transaction struct {
	zxid, time int64
	session    int64
	edits      []edit
	closer     *connection // asked for the end of its session and will be answered
}
