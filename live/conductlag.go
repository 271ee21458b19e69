package live

import (
	"context"
	"errors"
	"slices"

	"github.com/zktorture/zktorture/sim"
)

// In the simulation a server that lags is some transactions behind, and a server that does not is at the leader's last
// after each step. Real followers are somewhere in between. So each follower that has clients in a trace is held, from the
// beginning, at the transaction at which it is there. Transactions are counted from the last one, as the trace does: real
// servers make the same, one after the other.

// follower is how far a server is that has clients and does not lead.
type follower struct {
	server int
	zxid   int64 // at which it is held
	lags   bool  // it hears nothing of what the leader commits, unless a client of its own asks for that
}

// falls tells whether a line of a trace says that a server falls behind.
func falls(s sim.Step) bool { return s.Kind == sim.KindFault && s.Late.Server > 0 }

// holdAll holds, before anything has happened, the followers that have clients in the trace.
func (d *conductor) holdAll(ctx context.Context) error {
	if d.cfg.Followers == nil {
		return nil
	}
	for _, s := range d.trace {
		if s.Server <= 0 || d.follower(s.Server) != nil {
			continue
		}
		f := &follower{server: s.Server}
		d.followers = append(d.followers, f)
		if err := d.catchUp(ctx, f); err != nil {
			return err
		}
	}
	return nil
}

// follower returns the follower that a server is, nil if it is not held.
func (d *conductor) follower(server int) *follower {
	i := slices.IndexFunc(d.followers, func(f *follower) bool { return f.server == server })
	if i < 0 {
		return nil
	}
	return d.followers[i]
}

// hold holds a follower at a transaction. It cannot go back.
func (d *conductor) hold(ctx context.Context, f *follower, zxid int64) error {
	if zxid <= f.zxid {
		return nil
	}
	f.zxid = zxid
	return d.cfg.Followers.Hold(ctx, f.server, zxid)
}

// catchUp lets a follower apply all that there is by now, and no more.
func (d *conductor) catchUp(ctx context.Context, f *follower) error {
	zxid, err := d.cfg.Followers.Committed(ctx)
	if err != nil {
		return err
	}
	return d.hold(ctx, f, zxid)
}

// through has something done by way of a server, which it is only when the server has applied it.
func (d *conductor) through(ctx context.Context, server int, do func() error) error {
	f := d.follower(server)
	if f == nil {
		return do()
	}
	f.zxid = 0
	d.cfg.Followers.Free(server)
	return errors.Join(do(), d.catchUp(ctx, f))
}

// passRequest lets the last request that was sent through. Whoever does more than read is answered when the server has
// applied it.
func (d *conductor) passRequest(ctx context.Context, p *life) error {
	pass := func() error { return p.stepper.PassRequest(ctx) }
	if w := p.sent[len(p.sent)-1]; w == nil || slices.Contains([]string{"children", "exists", "get", "getACL"}, w.op) {
		return pass()
	}
	return d.through(ctx, p.server, pass)
}

// meet notes that a client is about to connect to a server. One without clients is up to date then, unless the step says
// that it lags.
func (d *conductor) meet(ctx context.Context, server, step int) error {
	f := d.follower(server)
	if f == nil || d.soothed || d.seen(server) {
		return nil
	}
	f.lags = slices.ContainsFunc(d.trace, func(s sim.Step) bool {
		return s.N == step && falls(s) && s.Late.Server == server
	})
	if f.lags {
		return nil
	}
	return d.catchUp(ctx, f)
}

// seen tells whether a client is connected to a server.
func (d *conductor) seen(server int) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.ContainsFunc(d.lives, func(p *life) bool { return p != nil && p.died == 0 && p.connected && p.server == server })
}

// fall makes a server lag. One that nobody has seen may be behind already.
func (d *conductor) fall(ctx context.Context, s sim.Step) error {
	f := d.follower(s.Late.Server)
	if f == nil {
		return nil // nobody sees it
	}
	f.lags = true
	zxid, err := d.cfg.Followers.Committed(ctx)
	if err != nil {
		return err
	}
	return d.hold(ctx, f, zxid-int64(s.Late.Transactions))
}

// apply lets a server that lags apply one transaction more.
func (d *conductor) apply(ctx context.Context, s sim.Step) error {
	if f := d.follower(s.Late.Server); f != nil {
		return d.hold(ctx, f, f.zxid+1)
	}
	return nil
}

// followAll lets those follow that do not lag, and have clients.
func (d *conductor) followAll(ctx context.Context) error {
	for _, f := range d.followers {
		if f.lags || !d.soothed && !d.seen(f.server) {
			continue
		}
		if err := d.catchUp(ctx, f); err != nil {
			return err
		}
	}
	return nil
}

// soothe ends all lag, when the trace has become calm.
func (d *conductor) soothe(ctx context.Context) error {
	if d.soothed {
		return nil
	}
	d.soothed = true
	for _, f := range d.followers {
		f.lags = false
	}
	return d.followAll(ctx)
}

// freeAll lets real followers follow as they do.
func (d *conductor) freeAll() {
	for _, f := range d.followers {
		d.cfg.Followers.Free(f.server)
	}
	d.followers = nil
}

// expire ends the session; the client does not learn of it yet. One whose server lags can go on reading there.
func (p *life) expire(ctx context.Context) error {
	d := p.conductor
	at := d.follower(p.server)
	p.over = at == nil || !at.lags
	by, err := d.ender(p)
	if err != nil {
		return err
	}
	return d.through(ctx, by, func() error { return p.stepper.Expire(ctx, by) })
}

// ender chooses the server by way of which a client's session is ended: not its own, and none that lags.
func (d *conductor) ender(p *life) (server int, err error) {
	for _, held := range []bool{false, true} {
		for server := range simulatedServers {
			if f := d.follower(server); server != p.server && (f != nil) == held && (f == nil || !f.lags) {
				return server, nil
			}
		}
	}
	return 0, errors.New("there is no other server that does not lag, to end the session")
}

// simulatedServers is how many servers there are in the simulation.
const simulatedServers = 3
