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

// holdAll holds, before anything has happened, the followers that have clients in the trace.
func (r *replayer) holdAll(ctx context.Context) error {
	if r.cfg.Followers == nil {
		return nil
	}
	for _, s := range r.trace {
		if s.Server <= 0 || r.follower(s.Server) != nil {
			continue
		}
		f := &follower{server: s.Server}
		r.followers = append(r.followers, f)
		if err := r.catchUp(ctx, f); err != nil {
			return err
		}
	}
	return nil
}

// follower returns the follower that a server is, nil if it is not held.
func (r *replayer) follower(server int) *follower {
	i := slices.IndexFunc(r.followers, func(f *follower) bool { return f.server == server })
	if i < 0 {
		return nil
	}
	return r.followers[i]
}

// hold holds a follower at a transaction. It cannot go back.
func (r *replayer) hold(ctx context.Context, f *follower, zxid int64) error {
	if zxid <= f.zxid {
		return nil
	}
	f.zxid = zxid
	return r.cfg.Followers.Hold(ctx, f.server, zxid)
}

// catchUp lets a follower apply all that there is by now, and no more.
func (r *replayer) catchUp(ctx context.Context, f *follower) error {
	zxid, err := r.cfg.Followers.Committed(ctx)
	if err != nil {
		return err
	}
	return r.hold(ctx, f, zxid)
}

// through has something done by way of a server, which it is only when the server has applied it.
func (r *replayer) through(ctx context.Context, server int, do func() error) error {
	f := r.follower(server)
	if f == nil {
		return do()
	}
	f.zxid = 0
	r.cfg.Followers.Free(server)
	return errors.Join(do(), r.catchUp(ctx, f))
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
	return r.catchUp(ctx, f)
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
	zxid, err := r.cfg.Followers.Committed(ctx)
	if err != nil {
		return err
	}
	return r.hold(ctx, f, zxid-int64(s.Late.Transactions))
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
	for _, f := range r.followers {
		if f.lags || !r.recovered && !r.seen(f.server) {
			continue
		}
		if err := r.catchUp(ctx, f); err != nil {
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
	for _, f := range r.followers {
		f.lags = false
	}
	return r.followAll(ctx)
}

// freeAll lets real followers follow as they do.
func (r *replayer) freeAll() {
	for _, f := range r.followers {
		r.cfg.Followers.Free(f.server)
	}
	r.followers = nil
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
