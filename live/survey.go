package live

import (
	"context"
	"fmt"
	"path"

	"github.com/go-zookeeper/zk"

	"github.com/zktorture/zktorture/live/outcome"
	"github.com/zktorture/zktorture/recipes"
	"github.com/zktorture/zktorture/workload"
)

// observe collects, after the end of a round, what can settle its unknown outcomes; nil if there is no
// need to, or if the tree cannot be read. It costs a write, a list, and a read for each znode that is
// left.
//
// Invariant: the log is copied after the tree was read, so that it has whatever made it as it is.
func (l *round) observe(ctx context.Context, v *workload.View) *outcome.Requests {
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

// surveyMax bounds how many znodes a survey reads.
const surveyMax = 1000

// survey reads what is below an object, after everything that was carried out before: a transaction
// that changes nothing is carried out after that, and no read of the session comes before it.
func survey(conn recipes.Conn, object string) (map[string]outcome.Znode, error) {
	session := conn.SessionID()
	if _, err := conn.Multi(&zk.CheckVersionRequest{Path: object, Version: -1}); err != nil {
		return nil, fmt.Errorf("live: %s cannot be checked: %w", object, err)
	}
	tree := map[string]outcome.Znode{}
	if err := readBelow(conn, object, tree); err != nil {
		return nil, err
	}
	if session == 0 || session != conn.SessionID() {
		return nil, fmt.Errorf("live: the session ended while %s was read", object)
	}
	return tree, nil
}

// readBelow reads what is below a znode. What goes meanwhile is gone.
func readBelow(conn recipes.Conn, parent string, tree map[string]outcome.Znode) error {
	names, _, err := conn.Children(parent)
	if err != nil && err != zk.ErrNoNode {
		return fmt.Errorf("live: the children of %s cannot be read: %w", parent, err)
	}
	for _, name := range names {
		if err := readZnode(conn, path.Join(parent, name), tree); err != nil {
			return err
		}
	}
	return nil
}

func readZnode(conn recipes.Conn, p string, tree map[string]outcome.Znode) error {
	data, stat, err := conn.Get(p)
	switch {
	case err == zk.ErrNoNode:
		return nil
	case err != nil:
		return fmt.Errorf("live: %s cannot be read: %w", p, err)
	case len(tree) >= surveyMax:
		return fmt.Errorf("live: there are more than %d znodes", surveyMax)
	}
	tree[p] = outcome.Znode{Data: string(data), Stat: *stat}
	if stat.NumChildren == 0 {
		return nil
	}
	return readBelow(conn, p, tree)
}
