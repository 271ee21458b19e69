package confirm

import (
	"context"
	"errors"
	"slices"

	"github.com/zktorture/zktorture/sim/world"
)

// In the simulation a lagging server is some transactions behind, and any other has the leader's last transaction after
// each step. Real followers are in between. So each follower with clients in a trace is held from the beginning at its
// transaction in the trace. Transactions are counted from the last one, as in the trace: real servers make the same
// ones in the same order.

// follower is how far a server is that has clients and does not lead.
type follower struct {
	server int
	zxid   int64 // at which it is held
	lags   bool  // it hears nothing of what the leader commits, unless a client of its own asks for that
}

// falls reports whether a line of a trace says that a server falls behind.
func falls(s world.Step) bool { return s.Kind == world.KindFault && s.Late.Server > 0 }

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

// holdAll holds, before anything has happened, the followers that have clients in the trace.
func (r *replayer) holdAll(ctx context.Context) error {
	for _, s := range r.trace {
		if f := r.add(s.Server); f != nil {
			if err := r.behind(ctx, f, 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// through has something done by way of a server, which it is only when the server has applied it.
func (r *replayer) through(ctx context.Context, server int, do func() error) error {
	f := r.follower(server)
	if f == nil {
		return do()
	}
	r.held.free(f)
	return errors.Join(do(), r.behind(ctx, f, 0))
}

// passRequest lets the last request that was sent through. Whoever does more than read is answered when the server has
// applied it.
func (r *replayer) passRequest(ctx context.Context, p *incarnation) error {
	pass := func() error { return p.stepper.PassRequest(ctx) }
	if w := p.sent[len(p.sent)-1]; w == nil || slices.Contains([]string{"children", "exists", "get", "getACL"}, w.op) {
		return pass()
	}
	return r.through(ctx, p.server, pass)
}

// meet notes that a client is about to connect to a server. A server without clients is up to date then, unless the
// step makes it lag.
func (r *replayer) meet(ctx context.Context, server, step int) error {
	f := r.follower(server)
	if f == nil || r.recovered || r.seen(server) {
		return nil
	}
	f.lags = slices.ContainsFunc(r.trace, func(s world.Step) bool {
		return s.N == step && falls(s) && s.Late.Server == server
	})
	if f.lags {
		return nil
	}
	return r.behind(ctx, f, 0)
}

// seen reports whether a client is connected to a server.
func (r *replayer) seen(server int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.incarnations, func(p *incarnation) bool {
		return p != nil && !p.dead && p.connected && p.server == server
	})
}

// fall makes a server lag. A server without clients so far may be behind already.
func (r *replayer) fall(ctx context.Context, s world.Step) error {
	f := r.follower(s.Late.Server)
	if f == nil {
		return nil // no client sees it
	}
	f.lags = true
	return r.behind(ctx, f, s.Late.Transactions)
}

// apply lets a server that lags apply one transaction more.
func (r *replayer) apply(ctx context.Context, s world.Step) error {
	if f := r.follower(s.Late.Server); f != nil {
		return r.hold(ctx, f, f.zxid+1)
	}
	return nil
}

// followAll lets those follow that do not lag, and have clients.
func (r *replayer) followAll(ctx context.Context) error {
	for _, f := range r.all {
		if f.lags || !r.recovered && !r.seen(f.server) {
			continue
		}
		if err := r.behind(ctx, f, 0); err != nil {
			return err
		}
	}
	return nil
}

// recover ends all lag, in the liveness phase.
func (r *replayer) recover(ctx context.Context) error {
	if r.recovered {
		return nil
	}
	r.recovered = true
	for _, f := range r.all {
		f.lags = false
	}
	return r.followAll(ctx)
}

// expire ends the session; the client does not learn of it yet. One whose server lags can go on reading there.
func (p *incarnation) expire(ctx context.Context) error {
	r := p.replayer
	at := r.follower(p.server)
	p.over = at == nil || !at.lags
	by, err := r.ender(p)
	if err != nil {
		return err
	}
	return r.through(ctx, by, func() error { return p.stepper.Expire(ctx, by) })
}

// ender chooses the server by way of which a client's session is ended: not its own, and none that lags.
func (r *replayer) ender(p *incarnation) (server int, err error) {
	for _, held := range []bool{false, true} {
		for server := range simulatedServers {
			if f := r.follower(server); server != p.server && (f != nil) == held && (f == nil || !f.lags) {
				return server, nil
			}
		}
	}
	return 0, errors.New("there is no other server that does not lag, to end the session")
}

// simulatedServers is how many servers there are in the simulation.
const simulatedServers = 3
