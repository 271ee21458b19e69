package confirm

import (
	"context"
	"slices"

	"github.com/zktorture/zktorture/sim/world"
)

// In the simulation a lagging server is some transactions behind, and any other has the leader's last transaction after
// each step. Real followers are in between. So each follower that is dialled is held from the beginning at its
// transaction in the simulation. Transactions are counted from the last one, as in the trace: real servers make the same
// ones in the same order.

// follower is how far a server is that has clients and does not lead.
type follower struct {
	server int
	zxid   int64 // at which it is held
	lags   bool  // it hears nothing of what the leader commits, unless a client of its own asks for that
}

// falls reports whether a line of a trace says that a server falls behind.
func falls(s world.Step) bool { return s.Kind == world.KindFault && s.Late > 0 }

// held are the followers that are held, of servers that can be.
type held struct {
	Followers // nil if they cannot
	all       []*follower
}

// add adds the follower that a server is, unless it leads or cannot be held, and returns it if it was not there.
func (h *held) add(server int) *follower {
	if server <= 0 || h.Followers == nil || h.follower(server) != nil {
		return nil
	}
	f := &follower{server: server}
	h.all = append(h.all, f)
	return f
}

// follower returns the follower that a server is, nil if it is not held.
func (h *held) follower(server int) *follower {
	i := slices.IndexFunc(h.all, func(f *follower) bool { return f.server == server })
	if i < 0 {
		return nil
	}
	return h.all[i]
}

// hold holds a follower at a transaction. It cannot go back.
func (h *held) hold(ctx context.Context, f *follower, zxid int64) error {
	if zxid <= f.zxid {
		return nil
	}
	f.zxid = zxid
	return h.Hold(ctx, f.server, zxid)
}

// behind lets a follower apply all that there is by now but the last few transactions, and no more.
func (h *held) behind(ctx context.Context, f *follower, few int) error {
	zxid, err := h.Committed(ctx)
	if err != nil {
		return err
	}
	return h.hold(ctx, f, zxid-int64(few))
}

// free lets a follower follow as it does, until it is held again.
func (h *held) free(f *follower) {
	f.zxid = 0
	h.Free(f.server)
}

// freeAll lets real followers follow as they do.
func (h *held) freeAll() {
	for _, f := range h.all {
		h.free(f)
	}
	h.all = nil
}
