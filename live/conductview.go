package live

import (
	"context"
	"slices"

	"github.com/zktorture/zktorture/workload"
)

// view is what the clients saw of a round that was conducted, and what the servers show. More is known than of other
// rounds: when processes died, and sessions ended.
func (d *conductor) view(ctx context.Context) *workload.View {
	for _, p := range d.former {
		d.round.sessions = append(d.round.sessions, p.session) // which stay when their process dies
	}
	v, world := d.round.view()
	world.faulty, world.crashes, world.beliefs = d.faulty, d.lifeEnd, true
	world.sessions = exactEnds{world.sessions}
	if len(v.Waiting) == 0 {
		world.stale = d.stale(ctx)
	}
	world.seen = d.round.observe(ctx, v)
	return v
}

// exactEnds are the ends of sessions in a round that is conducted: nothing else happens while one is ended.
type exactEnds struct{ sessionEnds }

func (e exactEnds) end(session int64) (at int64, ended bool) {
	if since, known := e.gone(session); known {
		return since, true
	}
	return e.sessionEnds.end(session)
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
