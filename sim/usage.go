package sim

import (
	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/fakezk"
)

// usage is which of a process's connections a user goes by, where its code opens them by itself: what it gets by an
// operation depends on the one over which it has last asked for an ephemeral znode; if it asked for none, for a change;
// if for none of these, for anything. An operation that asks for nothing goes by the one of the operation before.
type usage struct {
	client  *wireClient // nil: none
	session int64       // its own when that was asked for
	rank    askRank
}

// askRank is how much depends on a request.
type askRank uint8

const (
	asksNothing askRank = iota
	asks
	asksChange
	asksEphemeral
)

func rankOf(r *fakezk.Request) (rank askRank) {
	switch {
	case r.Op == fakezk.OpCloseSession:
		return asksNothing
	case r.Op == fakezk.OpMulti:
		for i := range r.Ops {
			rank = max(rank, rankOf(&r.Ops[i]))
		}
		return rank
	case reads(r.Op) || r.Op == fakezk.OpCheck:
		return asks
	case r.Flags&zk.FlagEphemeral != 0 && (r.Op == fakezk.OpCreate || r.Op == fakezk.OpCreate2):
		return asksEphemeral
	}
	return asksChange
}

// use notes that a request goes over a client.
func (u *usage) use(c *wireClient, r *fakezk.Request) {
	if rank := rankOf(r); rank != asksNothing && rank >= u.rank {
		*u = usage{c, c.Session(), rank}
	}
}

// severalConns tells whether the process's code opens connections by itself.
func (p *process) severalConns() bool { return p.door != nil && p.door.conn == nil }

// used is what the operation has used, or the one before.
func (op *Op) used() usage {
	if op.over.client == nil {
		return op.user.over
	}
	return op.over
}

// Session is the one that the operation goes by now: the present one of its client, of a client that has none any more
// the last that the operation has used.
func (op *Op) Session() int64 {
	used := op.used()
	if !op.user.process.severalConns() || used.client == nil {
		return op.user.process.session()
	}
	if present := used.client.Session(); present != 0 {
		return present
	}
	return used.session
}
