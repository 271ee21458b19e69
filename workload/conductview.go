package workload

import (
	"context"
	"slices"
)

// view is what the clients saw of a round that was conducted, and what the servers show. More is known than of other
// rounds: when processes died, and sessions ended.
func (d *conductor) view(ctx context.Context) *view {
	for _, p := range d.former {
		d.round.sessions = append(d.round.sessions, p.session) // which stay when their process dies
	}
	v := d.round.view()
	v.faulty = d.faulty
	v.life = d.lifeEnd
	session, gone := v.session, v.gone
	v.session = func(id int64) (int64, bool) {
		if since, known := gone(id); known {
			return since, true // nothing else happened while it was ended
		}
		return session(id)
	}
	if len(v.waiting) == 0 {
		v.stale = d.stale(ctx)
	}
	d.observe(ctx, v)
	return v
}

// observe collects what can settle unknown outcomes. The root is the round's own object; that it is in use is none of the
// recipe's business.
func (d *conductor) observe(ctx context.Context, v *view) {
	l := d.round
	if v.seen = l.run.observe(ctx, l.object, v, l.episode); v.seen != nil {
		delete(v.seen.tree, l.object+"/"+inUse)
	}
}

// lifeEnd returns when a client's process died.
func (d *conductor) lifeEnd(client, number int) (end int64, ended bool) {
	for _, p := range d.former {
		if p.client == client && p.number == number {
			return p.died, true
		}
	}
	return 0, false
}

// alive tells whether a session is a client's present one.
func (d *conductor) alive(session int64) bool {
	return slices.ContainsFunc(d.lives, func(p *life) bool { return p.session.Conn.SessionID() == session })
}

// stale lists the watches of the round's clients on what does not exist.
func (d *conductor) stale(ctx context.Context) (found []Watched) {
	if d.cfg.Watches == nil {
		return nil
	}
	all, err := d.cfg.Watches(ctx)
	if err != nil {
		return nil
	}
	for _, w := range all {
		if there, _, err := d.round.run.admin.Conn.Exists(w.Path); d.alive(w.Session) && err == nil && !there {
			found = append(found, w)
		}
	}
	return found
}
