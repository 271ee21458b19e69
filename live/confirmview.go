package live

import (
	"context"
	"slices"

	"github.com/zktorture/zktorture/workload"
)

// view is what the clients saw of a round that was replayed, and what the servers show. More is known than of other
// rounds: when processes died, and sessions ended.
func (r *replayer) view(ctx context.Context) *workload.View {
	for _, p := range r.former {
		r.round.sessions = append(r.round.sessions, p.session) // which stay when their process dies
	}
	v, world := r.round.view()
	world.faulty, world.crashes, world.beliefs = r.faulty, r.incarnationEnd, true
	world.sessions = exactEnds{world.sessions}
	if len(v.Waiting) == 0 {
		world.stale = r.stale(ctx)
	}
	world.seen = r.round.observe(ctx, v)
	return v
}

// exactEnds are the ends of sessions in a round that is replayed: nothing else happens while one is ended.
type exactEnds struct{ sessionEnds }

func (e exactEnds) end(session int64) (at int64, ended bool) {
	if since, known := e.gone(session); known {
		return since, true
	}
	return e.sessionEnds.end(session)
}

// incarnationEnd returns when a client's process died.
func (r *replayer) incarnationEnd(client, number int) (end int64, ended bool) {
	for _, p := range r.former {
		if p.client == client && p.number == number {
			return p.died, true
		}
	}
	return 0, false
}

// alive tells whether a session is a client's present one.
func (r *replayer) alive(session int64) bool {
	return slices.ContainsFunc(r.incarnations, func(p *incarnation) bool { return p.session.Conn.SessionID() == session })
}

// stale lists the watches of the round's clients on what does not exist.
func (r *replayer) stale(ctx context.Context) (found []Watched) {
	if r.cfg.Watches == nil {
		return nil
	}
	all, err := r.cfg.Watches(ctx)
	if err != nil {
		return nil
	}
	for _, w := range all {
		if there, _, err := r.round.run.admin.Conn.Exists(w.Path); r.alive(w.Session) && err == nil && !there {
			found = append(found, w)
		}
	}
	return found
}
