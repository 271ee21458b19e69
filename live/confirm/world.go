package confirm

import (
	"context"
	"slices"

	"github.com/zktorture/zktorture/sim"
	"github.com/zktorture/zktorture/sim/world"
	"github.com/zktorture/zktorture/workload"
)

// replayedWorld is the world of a round that was replayed, of which more is known than of others.
type replayedWorld struct {
	workload.World
	faulty bool
	stale  []Watched // on what does not exist, if the servers were asked
}

// view is what the clients saw of the round, and what the servers show.
func (r *replayer) view(ctx context.Context) *workload.View {
	v := r.round.View(ctx)
	replayed := replayedWorld{World: v.World, faulty: r.faulty}
	if len(v.Waiting) == 0 {
		replayed.stale = r.stale(ctx)
	}
	v.World = replayed
	return v
}

func (w replayedWorld) Faulty() bool          { return w.faulty }
func (w replayedWorld) Beliefs() (known bool) { return true }

// SessionEnd is exact: nothing else happens while a session is ended.
func (w replayedWorld) SessionEnd(session int64) (end int64, ended bool) {
	if since, known := w.SessionGone(session); known {
		return since, true
	}
	return w.World.SessionEnd(session)
}

// LeftBehind returns what the servers say that clients watch for ever.
func (w replayedWorld) LeftBehind([]*world.Op, workload.Leftovers) (found []sim.Violation) {
	for _, watch := range w.stale {
		found = append(found, sim.Violation{Property: "watch-leak"}.Saying(
			"a watch on %s, which does not exist, is left with session %v", world.Path(watch.Path), world.SessionID(watch.Session)))
	}
	return found
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
	alive := func(session int64) bool {
		return slices.ContainsFunc(r.incarnations, func(p *incarnation) bool { return p.session.Conn.SessionID() == session })
	}
	for _, w := range all {
		if there, _, err := r.round.Admin().Exists(w.Path); alive(w.Session) && err == nil && !there {
			found = append(found, w)
		}
	}
	return found
}
