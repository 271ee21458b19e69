package workload

import "context"

// settler is an episode that can settle unknown outcomes by requests and the tree.
type settler interface {
	evidence(v *View) settlement
	// doubtful tells whether it could matter: not whether anything is unknown, but whether the
	// history could be explained in more than one way by that.
	doubtful(v *View) bool
}

// logged is an episode whose users' requests are logged.
type logged struct {
	Episode
	log *requestLog
}

func (e logged) Run(u User) { e.Episode.Run(e.log.of(u)) }

// logRequests logs the requests of an episode that can make use of them; nil if it cannot.
func logRequests(e Episode) (Episode, *requestLog) {
	if _, can := e.(settler); !can {
		return e, nil
	}
	log := &requestLog{}
	return logged{e, log}, log
}

// observe collects, after the end of a round, what can settle its unknown outcomes; nil if there is no
// need to, or if the tree cannot be read. It costs a write, a list, and a read for each znode that is
// left.
//
// Invariant: the log is copied after the tree was read, so that it has whatever made it as it is.
func (r *liveRun) observe(ctx context.Context, object string, v *View, e Episode) *observed {
	l, can := e.(logged)
	if !can || ctx.Err() != nil || !l.Episode.(settler).doubtful(v) {
		return nil
	}
	tree, err := survey(r.admin.Conn, object)
	if err != nil {
		return nil
	}
	delete(tree, r.claim.sign())
	delete(tree, r.claim.inUse())
	return &observed{log: l.log.snapshot(), tree: tree}
}
