package live

import (
	"context"

	"github.com/zktorture/zktorture/live/outcome"
	"github.com/zktorture/zktorture/workload"
)

// observe collects, after the end of a round, what can settle its unknown outcomes; nil if there is no
// need to, or if the tree cannot be read. It costs a write, a list, and a read for each znode that is
// left.
//
// Invariant: the log is copied after the tree was read, so that it has whatever made it as it is.
func (l *Round) observe(ctx context.Context, v *workload.View) *outcome.Requests {
	if ctx.Err() != nil || !l.log.Needed(v.Ops) {
		return nil
	}
	tree, err := survey(l.run.admin.Conn, l.object)
	if err != nil {
		return nil
	}
	delete(tree, l.run.claim.sign())
	delete(tree, l.run.claim.inUse())
	return l.log.With(tree)
}
