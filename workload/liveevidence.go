package workload

import (
	"context"
	"slices"

	"github.com/zktorture/zktorture/sim"
)

// settler is an episode that can settle unknown outcomes by requests and the tree.
type settler interface {
	evidence(v *view) settlement
}

// logged is an episode whose users' requests are logged.
type logged struct {
	episode
	log *requestLog
}

func (e logged) run(u user) { e.episode.run(e.log.of(u)) }

// logRequests logs the requests of an episode that can make use of them; nil if it cannot.
func logRequests(e episode) (episode, *requestLog) {
	if _, can := e.(settler); !can {
		return e, nil
	}
	log := &requestLog{}
	return logged{e, log}, log
}

// observe collects, after the end of a round, what can settle its unknown outcomes; nil if there are
// none, or if the tree cannot be read. It costs one write, and two reads for each znode that is left.
//
// Invariant: the log is copied after the tree was read, so that it has whatever made it as it is.
func (r *liveRun) observe(ctx context.Context, object string, ops []*sim.Op, log *requestLog) *observed {
	if log == nil || ctx.Err() != nil || !slices.ContainsFunc(ops, undecided) {
		return nil
	}
	tree, err := survey(r.admin.Conn, object)
	if err != nil {
		return nil
	}
	return &observed{log: log.snapshot(), tree: tree}
}
